"""Where Redis is: what a URL says, and connections made by it.

`redis://[user:password@]host[:port][/db]` and `rediss://` (TLS) name one server, or any node of a cluster, which
tells by itself that it is one. `redis+cluster://host:port,host:port` and `rediss+cluster://` (or `?cluster=true`)
name several nodes, so that a start does not hang on one of them. TLS always verifies certificate and host name;
`ssl_ca_certs` names a file of authorities instead of the system's, `ssl_certfile` and `ssl_keyfile` the client's own.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from redis.asyncio.connection import Connection, SSLConnection

from storage.errors import StorageError
from storage.redis.wire import Wire

DEFAULT_PORT: Final = 6379
CONNECT_SECONDS: Final = 1.0
"""How long a connection may take to be made. Nobody's call waits that long: calls have a limit of their own, and a
handshake that outlasts it serves those who come later."""

_SCHEMES: Final = {
    "redis": (False, False),
    "rediss": (True, False),
    "redis+cluster": (False, True),
    "rediss+cluster": (True, True),
}
_OPTIONS: Final = ("cluster", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


class InvalidRedisUrl(StorageError):
    """The URL cannot be used. The text says why and quotes nothing of it, since it may hold a password."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one server listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """What a URL says. `tls` None: plain TCP."""

    seeds: tuple[Endpoint, ...]
    is_cluster: bool = False
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    database: int = 0
    tls: ssl.SSLContext | None = None

    def dial(self, endpoint: Endpoint) -> Wire:
        """A connection to one of the servers, not yet made.

        RESP2, since nothing here needs what RESP3 adds, and its greeting would cost a round trip; no health checks
        and no time-outs of the driver's own, since every use is under one limit from outside.
        """
        # The driver's parameters have many types, and it passes them on as they come.
        options: dict[str, Any] = {
            "host": endpoint.host,
            "port": endpoint.port,
            "username": self.username,
            "password": self.password,
            "db": self.database,
            "protocol": 2,
            "socket_timeout": None,
            "socket_connect_timeout": CONNECT_SECONDS,
            "driver_info": None,
            "client_name": "muniment",
        }
        if self.tls is None:
            return cast("Wire", Connection(**options))
        connection = SSLConnection(**options)
        # One context for all: making one reads the authorities' file, which takes longer than a call may.
        connection.ssl_context.context = self.tls
        return cast("Wire", connection)


def parse_redis_url(url: str) -> RedisAddress:
    """What the URL says. Raises `InvalidRedisUrl`."""
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise InvalidRedisUrl("the Redis URL is malformed; write redis://host:port") from None
    if parts.scheme not in _SCHEMES:
        raise InvalidRedisUrl(
            f"the Redis URL must begin with one of {', '.join(f'{s}://' for s in _SCHEMES)}"
        )
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise InvalidRedisUrl(f"the Redis URL has an unknown option; known are {', '.join(_OPTIONS)}")
    with_tls, names_cluster = _SCHEMES[parts.scheme]
    is_cluster = names_cluster or _flag(options.get("cluster", "false"))
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    return RedisAddress(
        seeds=_seeds(hosts, is_cluster),
        is_cluster=is_cluster,
        username=unquote(username) or None,
        password=unquote(password) or None,
        database=_database(parts, is_cluster),
        tls=_tls(options, with_tls),
    )


def _flag(value: str) -> bool:
    if value not in ("true", "false"):
        raise InvalidRedisUrl("option cluster of the Redis URL must be true or false")
    return value == "true"


def _seeds(hosts: str, is_cluster: bool) -> tuple[Endpoint, ...]:
    seeds = tuple(_endpoint(host) for host in hosts.split(","))
    if len(seeds) > 1 and not is_cluster:
        raise InvalidRedisUrl(
            "the Redis URL names several hosts; write redis+cluster:// if they are a cluster"
        )
    return seeds


def _endpoint(text: str) -> Endpoint:
    try:
        parts = urlsplit(f"//{text}")
        port = DEFAULT_PORT if parts.port is None else parts.port
    except ValueError:
        raise InvalidRedisUrl("a port of the Redis URL is no number from 1 to 65535") from None
    if not parts.hostname or not port:
        raise InvalidRedisUrl("the Redis URL names no host; write redis://host:port")
    return Endpoint(parts.hostname, port)


def _database(parts: SplitResult, is_cluster: bool) -> int:
    text = parts.path.strip("/")
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise InvalidRedisUrl(
            "the path of the Redis URL is no number of a database; write redis://host:port/0"
        )
    if is_cluster and int(text):
        raise InvalidRedisUrl("a Redis Cluster has database 0 only; leave the number out of the URL")
    return int(text)


def _tls(options: Mapping[str, str], with_tls: bool) -> ssl.SSLContext | None:
    files = {name: value for name, value in options.items() if name.startswith("ssl_")}
    if not with_tls:
        if files:
            raise InvalidRedisUrl(
                "the Redis URL has TLS options but no TLS; begin it with rediss:// or rediss+cluster://"
            )
        return None
    try:
        context = ssl.create_default_context(cafile=files.get("ssl_ca_certs"))
        if "ssl_certfile" in files:
            context.load_cert_chain(files["ssl_certfile"], files.get("ssl_keyfile"))
    except OSError:  # ssl.SSLError is one
        raise InvalidRedisUrl("a certificate file that the Redis URL names cannot be read as PEM") from None
    return context
