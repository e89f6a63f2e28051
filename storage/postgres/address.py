"""Where a Postgres is and how it is spoken to, from a URL. Nothing of the URL is ever in an error or a log."""

import ipaddress
import ssl
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

_SCHEMES: Final = ("postgresql", "postgres", "postgresql+asyncpg")
_DRIVER: Final = "postgresql+asyncpg"
_OWN: Final = ("sslmode", "sslrootcert", "sslcert", "sslkey")
_VERIFIED: Final = ("verify-full", "verify-ca", "require")
_PASSED_ON: Final = ("host", "application_name")
_PORT: Final = 5432


class AddressError(ValueError):
    """The database URL cannot be used; the text names the remedy and quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class Address:
    """A database. `url` is for SQLAlchemy, with asyncpg as its driver; `tls` is None where the connection is clear.

    `url` may hold a password, so it is left out wherever an address is shown.
    """

    url: URL = field(repr=False)
    tls: ssl.SSLContext | None = field(repr=False)
    application_name: str


def is_postgres(url: str) -> bool:
    """Whether a URL is one of Postgres, by its scheme."""
    return url.partition("://")[0] in _SCHEMES


def parse_address(url: str) -> Address:
    """From `postgresql://user:password@host:port/database?sslmode=verify-full&sslrootcert=/path/ca.pem`.

    Other hosts than this machine are spoken to under TLS, their certificate and name verified, unless `sslmode=disable`
    says otherwise. `sslcert` and `sslkey` are the client's own. Raises `AddressError`.
    """
    if not is_postgres(url):
        raise AddressError("database URL: write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise AddressError("database URL: it cannot be read; percent-encode what is special in it") from None
    if not parsed.database:
        raise AddressError("database URL: it names no database; append /DATABASE")
    if not set(parsed.query) <= {*_OWN, *_PASSED_ON}:
        known = ", ".join((*_OWN, *_PASSED_ON))
        raise AddressError(f"database URL: it has options that are not known here; known are {known}")
    options = {name: _single(parsed, name) for name in parsed.query}
    bare = parsed.set(drivername=_DRIVER, port=parsed.port or _PORT)
    bare = bare.difference_update_query((*_OWN, "application_name"))
    return Address(bare, _tls(options, _is_local(parsed)), options.get("application_name", "muniment"))


def _single(url: URL, name: str) -> str:
    value = url.query[name]
    if not isinstance(value, str):
        raise AddressError(f"database URL: {name} is given more than once")
    return value


def _is_local(url: URL) -> bool:
    """Whether it is this machine: a loopback address, or a socket of the file system."""
    host = url.host or url.query.get("host") or "/"
    if not isinstance(host, str):
        return False
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tls(options: dict[str, str], local: bool) -> ssl.SSLContext | None:
    mode = options.get("sslmode", "disable" if local and "sslrootcert" not in options else "verify-full")
    if mode == "disable":
        return None
    if mode not in _VERIFIED:
        raise AddressError(
            "database URL: sslmode may be verify-full, verify-ca, require (as verify-full here), or disable; "
            "the others may end in clear text without saying so"
        )
    context = _context(options)
    context.check_hostname = mode != "verify-ca"
    return context


def _context(options: dict[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=options.get("sslrootcert"))
    except OSError:
        raise AddressError("database URL: the file of sslrootcert cannot be read as certificates") from None
    certificate = options.get("sslcert")
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, options.get("sslkey"))
        except OSError:
            raise AddressError(
                "database URL: the files of sslcert and sslkey cannot be read as a key pair"
            ) from None
    return context
