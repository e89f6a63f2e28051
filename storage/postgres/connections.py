"""The pool of driver connections. What does not end in order ends its connection.

SQLAlchemy makes the connections and counts them; between two uses they stay here, since its pool is entered through a
greenlet each time. A look-up through SQLAlchemy took 300 µs, on a connection of its pool 115, and this way little more
than the 64 of the driver alone.

A connection whose use was cut off, by a time-out or by a caller that went away, may have half an answer on it and is
aborted on the spot: closing it politely would wait for a server that perhaps stands still.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import asyncpg
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import PoolProxiedConnection

from storage.errors import StorageUnavailable
from storage.postgres.address import Address
from storage.postgres.connecting import creator_of
from storage.postgres.dialect import DRIVER
from storage.postgres.dialing import Dialing
from storage.postgres.failures import CONFUSED, translated

T = TypeVar("T")


class Connections:
    """Up to `size` connections, made when they are needed. Belongs to one event loop."""

    def __init__(self, address: Address, size: int) -> None:
        self._engine = _engine(address, size)
        self._places = asyncio.Semaphore(size)
        # The hottest last, whose statements are prepared.
        self._idle: list[PoolProxiedConnection] = []
        self._dialing = Dialing(self._engine.raw_connection, self._idle.append)
        self._in_use = 0
        self._closed = False

    @property
    def in_use(self) -> int:
        """How many connections are in somebody's hands now."""
        return self._in_use

    async def use(self, seconds: float, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """Run something on a connection that nobody else has, within a time that includes the wait for one.

        Drivers' errors come out as those of `storage.errors`; a write that met another one as `Conflict`.
        """
        with translated():
            async with asyncio.timeout(seconds), self.hold(None) as driver:
                return await work(driver)

    @asynccontextmanager
    async def hold(self, seconds: float | None) -> AsyncIterator[asyncpg.Connection]:
        """A connection that nobody else has, waited for that long. What is done with it, the caller bounds."""
        if self._closed:
            raise StorageUnavailable("the store is closed")
        async with asyncio.timeout(seconds):
            checked_out = await self._check_out()
        driver: asyncpg.Connection = checked_out.driver_connection
        try:
            yield driver
        except BaseException as error:
            if not _is_orderly(error, driver):
                driver.terminate()
            raise
        finally:
            self._give_back(checked_out)

    async def _check_out(self) -> PoolProxiedConnection:
        await self._places.acquire()
        try:
            checked_out = await self._take()
        except BaseException:
            self._places.release()
            raise
        self._in_use += 1
        return checked_out

    async def _take(self) -> PoolProxiedConnection:
        while True:
            checked_out = self._take_idle() or await self._dialing.dial()
            if checked_out is not None:
                return checked_out

    def _take_idle(self) -> PoolProxiedConnection | None:
        # A server that went away has closed the idle ones: they are known to be dead without asking.
        while self._idle:
            checked_out = self._idle.pop()
            if not _is_dead(checked_out):
                return checked_out
            _drop(checked_out)
        return None

    def _give_back(self, checked_out: PoolProxiedConnection) -> None:
        self._in_use -= 1
        if self._closed or _is_dead(checked_out):
            _drop(checked_out)
        else:
            self._idle.append(checked_out)
        self._places.release()

    async def close(self) -> None:
        """Close them all. Those in use are closed after their use."""
        self._closed = True
        await self._dialing.close()
        while self._idle:
            self._idle.pop().close()
        await self._engine.dispose()


def _is_dead(checked_out: PoolProxiedConnection) -> bool:
    driver: asyncpg.Connection = checked_out.driver_connection
    closed: bool = driver.is_closed()
    return closed


def _drop(checked_out: PoolProxiedConnection) -> None:
    checked_out.invalidate()
    checked_out.close()


def _is_orderly(error: BaseException, driver: asyncpg.Connection) -> bool:
    """Whether the server has said what is wrong, or the driver was not involved, and no transaction is open."""
    cut_off = isinstance(error, (asyncio.CancelledError, OSError, *CONFUSED))
    return not (cut_off or driver.is_closed() or driver.is_in_transaction())


def _engine(address: Address, size: int) -> AsyncEngine:
    return create_async_engine(
        address.url.set(drivername=DRIVER),
        async_creator=creator_of(address),
        pool_size=size,
        max_overflow=0,
        # What is done with a connection ends in order, or ends it.
        pool_reset_on_return=None,
        hide_parameters=True,
    )
