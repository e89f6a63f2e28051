"""The part of redis-py that is used: one connection, which knows how to greet, log in, and read replies.

Pools, pipelines, retries and health checks of redis-py stay unused. Its pipeline costs twice the processor time of
the same exchange on a bare connection, and what a time-out or a cancelled caller leaves behind is safer to reason
about where one task of our own owns each exchange from its first byte to its last.
"""

from collections.abc import Iterable
from typing import Protocol, TypeAlias, Union

from redis.exceptions import ResponseError

Reply: TypeAlias = Union[bytes, int, "list[Reply]", ResponseError, None]
"""What a server answers to one command under RESP2; an error is a value here, since it concerns that command only."""
Argument: TypeAlias = bytes | int
Command: TypeAlias = tuple[Argument, ...]


class Wire(Protocol):
    """A connection of redis-py."""

    @property
    def is_connected(self) -> bool: ...
    async def connect(self) -> None: ...
    async def can_read(self) -> bool:
        """On a connection that waits for nothing: whether it was closed by the other side, or has bytes that nobody
        asked for."""
        ...

    async def send_packed_command(self, command: Iterable[bytes], check_health: bool) -> None: ...
    async def read_response(self, disable_decoding: bool) -> Reply: ...
    async def disconnect(self, nowait: bool) -> None: ...
