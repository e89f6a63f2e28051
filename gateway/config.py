"""What can be set from outside: arguments of `muniment serve` first, then `MUNIMENT_*` variables, then defaults."""

import ipaddress
import socket
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gateway import backend_urls


class AddressError(ValueError):
    """A listen address cannot be used; the text names the remedy."""


class NotLoopbackError(AddressError):
    """The address can be reached from other machines, which this release must not be."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen. `host` is a name or an address without brackets; port 0 lets the system choose."""

    host: str
    port: int

    @property
    def target(self) -> str:
        """As gRPC wants it, with brackets around IPv6."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "ListenAddress":
        """From `127.0.0.1:7463`, `[::1]:7463` or `localhost:0`. Raises `AddressError`."""
        host, colon, port = text.rpartition(":")
        if not colon or not host:
            raise AddressError(f"listen: {text!r} has no host and port: write it as 127.0.0.1:7463")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise AddressError(
                f"listen: {text!r} has an IPv6 address without brackets: write it as [::1]:7463"
            )
        if not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise AddressError(f"listen: {port!r} is not a port: give a number from 0 to 65535")
        return cls(host, int(port))

    def require_loopback(self) -> None:
        """Raise `NotLoopbackError` unless only this machine can reach the address."""
        if not all(ipaddress.ip_address(address).is_loopback for address in _resolve(self.host)):
            raise NotLoopbackError(
                f"listen: {self.target} can be reached from other machines, and this release has neither TLS nor "
                "authentication: everybody there could read every tenant's memory. Listen on 127.0.0.1, and put a "
                "proxy that authenticates in front if others must reach it"
            )


def _resolve(host: str) -> list[str]:
    """All addresses of a host."""
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        raise AddressError(f"listen: {host!r} is not known here: give an address such as 127.0.0.1") from None


class LogLevel(StrEnum):
    """The least important lines to write."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class TelemetryMode(StrEnum):
    """Where spans and metrics go. OFF leaves a provider that the process has set up by itself in force."""

    OFF = "off"
    CONSOLE = "console"
    OTLP = "otlp"


class EmbedderName(StrEnum):
    """What turns texts into vectors. NONE searches histories by keywords only."""

    NONE = "none"
    MINILM = "minilm"


def _address(value: object) -> object:
    return ListenAddress.parse(value) if isinstance(value, str) else value


class Settings(BaseSettings):
    """The gateway's settings; a wrong one is refused by name when they are read.

    Without `database_url` everything is kept in `data_dir`, by this one process. With it `data_dir` holds only the
    spool, and any number of processes may serve the same database.
    """

    model_config = SettingsConfigDict(
        env_prefix="MUNIMENT_",
        extra="ignore",
        frozen=True,
        arbitrary_types_allowed=True,
        # What is refused may be a URL with a password.
        hide_input_in_errors=True,
    )

    listen: Annotated[ListenAddress, NoDecode, BeforeValidator(_address)] = ListenAddress("127.0.0.1", 7463)
    data_dir: Path = Path("data")
    log_level: LogLevel = LogLevel.INFO
    otel: TelemetryMode = TelemetryMode.OFF
    max_concurrent_calls: Annotated[int, Field(ge=1, le=100_000)] = 512
    # Above the longest deadline (10 s), so that a drain fails no call.
    drain_seconds: Annotated[float, Field(ge=10.0, le=600.0)] = 12.0
    reuse_port: bool = False

    database_url: Annotated[SecretStr | None, BeforeValidator(backend_urls.database_url)] = None
    redis_url: Annotated[SecretStr | None, BeforeValidator(backend_urls.redis_url)] = None
    master_key_file: Path | None = None
    embedder: EmbedderName = EmbedderName.NONE

    # Connections to Postgres for look-ups and writes; 16 serve several thousand assemblies a second.
    database_pool_size: Annotated[int, Field(ge=2, le=256)] = 16
    # How long one operation may take before its connection is given up. A call's own deadline is usually earlier.
    database_read_seconds: Annotated[float, Field(ge=0.05, le=10.0)] = 1.0
    database_write_seconds: Annotated[float, Field(ge=0.05, le=10.0)] = 2.0
    database_append_seconds: Annotated[float, Field(ge=0.05, le=10.0)] = 1.0
    redis_milliseconds: Annotated[int, Field(ge=5, le=1_000)] = 50
    spool_mebibytes: Annotated[int, Field(ge=1, le=65_536)] = 256

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if self.redis_url is not None and self.database_url is None:
            raise ValueError(
                "redis_url: is of no use without database_url: Redis shares what several gateways know, and the "
                "database of a data folder belongs to one. Set database_url as well, or neither"
            )
        if self.database_url is not None and self.redis_url is None:
            raise ValueError(
                "redis_url: is needed beside database_url: gateways share the state of sessions through Redis. "
                "Set it, or leave out database_url to keep everything in the data folder"
            )
        if self.database_url is not None and self.master_key_file is None:
            raise ValueError(
                "master_key_file: is needed beside database_url: what the database holds is encrypted under it. "
                "Make one with `muniment keys create FILE`, and keep a copy apart from the database's backups"
            )
        return self
