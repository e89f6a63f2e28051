"""A link: one connection to a server that carries one batch of commands at a time.

Whatever goes wrong between the first byte of a batch and its last reply closes the connection: a reply that nobody
read would be taken for the answer to the next command, which may be another user's.
"""

from collections.abc import Sequence
from typing import cast

import hiredis
from redis.exceptions import RedisError, ResponseError

from storage.redis.patience import Patience
from storage.redis.wire import Command, Reply, Wire


class LinkBroken(Exception):
    """The batch was not answered, or not wholly; what it asked for may have been done."""


class Link:
    """Owns a connection; belongs to one event loop, and to one batch at a time."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def connect(self) -> None:
        """Connect and log in. Raises what the driver raises, which `LinkBroken` stands for later."""
        try:
            await self._wire.connect()
        except BaseException:
            await self.close()
            raise

    async def is_usable(self) -> bool:
        """Whether the connection stands and nothing unasked for has come over it."""
        try:
            return self._wire.is_connected and not await self._wire.can_read()
        except (OSError, RedisError):
            return False

    async def exchange(self, commands: Sequence[Command], deadline: float) -> list[Reply]:
        """The replies to the commands in their order, by the loop's time `deadline`. Raises `LinkBroken`."""
        try:
            async with Patience(deadline):
                packed = [_packed(command) for command in commands]
                await self._wire.send_packed_command(packed, check_health=False)
                return [await self._reply() for _ in commands]
        except (TimeoutError, OSError, RedisError) as error:
            await self.close()
            raise LinkBroken from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let go of the connection at once."""
        try:
            await self._wire.disconnect(nowait=True)
        except (OSError, RedisError):
            # It could not even be closed in order; the transport is gone either way.
            return

    async def _reply(self) -> Reply:
        try:
            return await self._wire.read_response(disable_decoding=True)
        except ResponseError as error:
            return error


def _packed(command: Command) -> bytes:
    # hiredis declares a tuple of one element and takes any number.
    packed: bytes = hiredis.pack_command(cast("tuple[bytes]", command))
    return packed
