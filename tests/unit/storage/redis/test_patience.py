"""A server that answered in time is not blamed for an event loop that was held up, on either loop."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import uvloop

from storage.errors import StorageUnavailable
from storage.redis import RedisClient
from storage.redis.address import parse_redis_url
from storage.redis.patience import Patience

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server in a thread of its own, which answers whatever it gets with +OK."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65_536):
                connection.sendall(b"+OK\r\n" * data.count(b"*"))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_loop_that_is_held_up_loses_no_answer(
    port: int, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def hold_up(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        time.sleep(0.15)  # noqa: ASYNC251  that is what it is about

    async def run() -> list[object]:
        client = RedisClient(parse_redis_url(f"redis://127.0.0.1:{port}"), limit=0.1)
        await client.start()
        answers: list[object] = []
        for turns in range(8):
            holding = asyncio.create_task(hold_up(turns))
            answers.append(await client.execute(b"key", b"GET", b"key"))
            await holding
        await client.close()
        return answers

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(run()) == [b"OK"] * 8


@pytest.mark.parametrize("new_loop", LOOPS)
def test_what_does_not_come_is_given_up(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def run() -> None:
        async with Patience(asyncio.get_running_loop().time() + 0.01):
            await asyncio.Event().wait()

    with asyncio.Runner(loop_factory=new_loop) as runner, pytest.raises(TimeoutError):
        runner.run(run())


async def test_what_comes_in_time_leaves_no_timer_behind() -> None:
    async with Patience(asyncio.get_running_loop().time() + 0.01):
        await asyncio.sleep(0)
    await asyncio.sleep(0.03)


async def test_a_cancelled_caller_stays_cancelled() -> None:
    async def wait() -> None:
        async with Patience(asyncio.get_running_loop().time() + 60):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_server_that_is_not_there_is_said_to_be_unavailable() -> None:
    client = RedisClient(parse_redis_url("redis://127.0.0.1:1"), limit=0.1)
    with pytest.raises(StorageUnavailable):
        await client.execute(b"key", b"GET", b"key")
    await client.close()
