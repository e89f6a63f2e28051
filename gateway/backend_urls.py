"""The URLs of the servers behind the gateway: told apart from mistakes before anything connects, and never repeated.

They may hold a password. So no error here says what was given, only which setting is wrong and how it is written.
"""

from urllib.parse import urlsplit

from pydantic import SecretStr

DATABASE_FORM = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"
REDIS_FORM = "redis://HOST:6379/0, or rediss://… over TLS"
_CLUSTERS = ("redis+cluster", "rediss+cluster")
"""Name several nodes, with commas between them."""


def database_url(value: object) -> SecretStr | None:
    """The URL of Postgres; None for an empty one. Raises ValueError with the remedy."""
    return _checked(value, "database_url", ("postgresql", "postgres"), DATABASE_FORM, needs_path=True)


def redis_url(value: object) -> SecretStr | None:
    """The URL of Redis; None for an empty one. Raises ValueError with the remedy."""
    return _checked(value, "redis_url", ("redis", "rediss", *_CLUSTERS), REDIS_FORM, needs_path=False)


def _checked(
    value: object, name: str, schemes: tuple[str, ...], form: str, needs_path: bool
) -> SecretStr | None:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if text is None or text == "":
        return None
    if not isinstance(text, str) or not _fits(text, schemes, needs_path):
        raise ValueError(
            f"{name}: is not a URL of the form {form}: write it so, with special characters %-encoded"
        )
    return SecretStr(text)


def _fits(text: str, schemes: tuple[str, ...], needs_path: bool) -> bool:
    try:
        parts = urlsplit(text)
        hosts = parts.netloc.rpartition("@")[2]
        for host in hosts.split(",") if parts.scheme in _CLUSTERS else (hosts,):
            # Reading the port is what checks it.
            _ = urlsplit(f"//{host}").port
    except ValueError:
        return False
    # A host may also be a folder with a socket, which Postgres's URLs have among their parameters.
    has_host = bool(parts.hostname) or "host=" in parts.query
    return parts.scheme in schemes and has_host and (not needs_path or len(parts.path) > 1)
