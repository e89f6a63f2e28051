"""A server that speaks just enough of Redis's protocol to be told how to misbehave."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import hiredis

Command = tuple[bytes, ...]
Answer = bytes | None
"""Raw protocol; None: silence. CLOSE closes the connection."""

CLOSE = b"close"
OK = b"+OK\r\n"
PONG = b"+PONG\r\n"


def bulk(value: bytes) -> bytes:
    """A string as a reply."""
    return b"$%d\r\n%b\r\n" % (len(value), value)


def echo(command: Command) -> Answer:
    """Logs anybody in, and answers other commands by their last argument."""
    if command[0] == b"PING":
        return PONG
    if command[0] in (b"CLIENT", b"SELECT", b"AUTH"):
        return OK
    return bulk(command[-1])


class FakeServer:
    """Answers each command with what `answer` makes of it, which a test may replace at any time."""

    def __init__(self) -> None:
        self.answer: Callable[[Command], Answer] = echo
        self.commands: list[Command] = []
        self.chunks: list[int] = []
        """How many commands came together in each read."""
        self.connections = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self.drop_connections()
        await asyncio.sleep(0.01)

    def drop_connections(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    def asked(self, name: bytes) -> list[Command]:
        return [command for command in self.commands if command[0] == name]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        parser: Any = hiredis.Reader(notEnoughData=Ellipsis)
        try:
            while data := await reader.read(65_536):
                parser.feed(data)
                commands = []
                while (parsed := parser.gets()) is not Ellipsis:
                    commands.append(tuple(parsed))
                self.chunks.append(len(commands))
                if not self._answer_all(commands, writer):
                    break
        except ConnectionError:
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    def _answer_all(self, commands: list[Command], writer: asyncio.StreamWriter) -> bool:
        for command in commands:
            self.commands.append(command)
            answer = self.answer(command)
            if answer == CLOSE:
                return False
            if answer is not None:
                writer.write(answer)
        return True
