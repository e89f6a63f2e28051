"""A byte proxy with toxics, on the standard event loop: sockets there can be told to reset instead of to close."""

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field

from benchmarks.faults.toxics import CLEAR, Conditions, Gate, Toxics

_CHUNK = 1 << 16
_LOOPBACK = "127.0.0.1"
# Linger for zero seconds: closing sends RST, and what was not yet sent is dropped.
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int


@dataclass(eq=False, slots=True)
class Link:
    """The two sides of one connection. `server` is None while nobody was connected to, as when it is silent."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def reset(self) -> None:
        """End both sides at once."""
        for task in self.tasks:
            task.cancel()
        for writer in (self.client, self.server):
            if writer is not None:
                _reset(writer)


class Proxy:
    """Listens on one port of loopback and passes bytes to one server. Conditions can change at any time."""

    def __init__(self, upstream: Address) -> None:
        self._upstream = upstream
        self._conditions = CLEAR
        self._speaking = asyncio.Event()
        self._speaking.set()
        self._links: set[Link] = set()
        self._listener: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> int:
        """Listen; gives the port, which stays the same."""
        self._listener = await asyncio.start_server(self._accepted, _LOOPBACK, self.port)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self.port

    async def apply(self, conditions: Conditions) -> None:
        """From now on, for connections that exist too."""
        self._conditions = conditions
        if conditions.gate is Gate.SILENT:
            self._speaking.clear()
        else:
            self._speaking.set()
        if conditions.gate in (Gate.REFUSED, Gate.RESET):
            self._reset_all()
        if conditions.gate is Gate.REFUSED:
            self._stop_listening()
        elif self._listener is None:
            await self.start()

    async def close(self) -> None:
        """Listen no more and end all connections."""
        self._stop_listening()
        self._reset_all()
        while self._links:  # noqa: ASYNC110  those that end take themselves out
            await asyncio.sleep(0)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _reset_all(self) -> None:
        for link in tuple(self._links):
            link.reset()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(writer)
        self._links.add(link)
        try:
            if self._conditions.gate is not Gate.RESET:
                await self._serve(link, reader)
        finally:
            link.reset()
            self._links.discard(link)
            # The streams' own objects wait for the transport's last word, and complain where nobody heard it.
            for side in (link.client, link.server):
                await _closed(side)

    async def _serve(self, link: Link, reader: asyncio.StreamReader) -> None:
        """Until either side ends. The server is connected to once something may pass."""
        waiting = asyncio.create_task(self._connected(link, reader))
        link.tasks.append(waiting)
        with suppress(asyncio.CancelledError, OSError):
            await waiting

    async def _connected(self, link: Link, reader: asyncio.StreamReader) -> None:
        await self._speaking.wait()
        answers, server = await asyncio.open_connection(self._upstream.host, self._upstream.port)
        link.server = server
        link.tasks += [
            asyncio.create_task(self._pump(link, reader, server, up=True)),
            asyncio.create_task(self._pump(link, answers, link.client, up=False)),
        ]
        # A side that fails ends the connection as a whole; both of them ending in order does too.
        await asyncio.gather(*link.tasks[1:])

    async def _pump(
        self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, up: bool
    ) -> None:
        """Pass bytes until an end; it is passed on, so that a half-closed connection stays one."""
        passed = 0
        while chunk := await reader.read(_CHUNK):
            toxics = self._conditions.up if up else self._conditions.down
            await _delay(toxics, len(chunk))
            await self._speaking.wait()
            if toxics.cut_after is not None and passed + len(chunk) >= toxics.cut_after:
                await _send(writer, chunk[: max(0, toxics.cut_after - passed)])
                link.reset()
                return
            await _send(writer, chunk)
            passed += len(chunk)
        await self._speaking.wait()
        writer.write_eof()


async def _delay(toxics: Toxics, size: int) -> None:
    seconds = toxics.latency_ms / 1e3
    if toxics.bytes_per_second is not None:
        seconds += size / toxics.bytes_per_second
    if seconds > 0:
        await asyncio.sleep(seconds)


async def _send(writer: asyncio.StreamWriter, chunk: bytes) -> None:
    if chunk:
        writer.write(chunk)
        await writer.drain()


async def _closed(writer: asyncio.StreamWriter | None) -> None:
    if writer is not None:
        with suppress(OSError):
            await writer.wait_closed()


def _reset(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
