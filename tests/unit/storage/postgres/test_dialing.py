"""New connections: many at once while the server answers, and one attempt at a time while it does not."""

import asyncio

import pytest

from storage.errors import StorageUnavailable
from storage.postgres import dialing
from storage.postgres.dialing import Dialing


class Server:
    """Answers, refuses, or stands still."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.asked = 0
        self.refuses = False
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.dialing = Dialing(self.connect, self.made.append)

    async def connect(self) -> int:
        self.asked += 1
        number = self.asked
        await self.goes_on.wait()
        if self.refuses:
            raise ConnectionRefusedError
        return number

    async def call(self, seconds: float = 0.01) -> int | None:
        """A call that waits so long for its connection."""
        async with asyncio.timeout(seconds):
            return await self.dialing.dial()


async def settled() -> None:
    """Whatever is ready has run."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def server() -> Server:
    return Server()


async def test_while_the_server_answers_everybody_gets_one_at_once(server: Server) -> None:
    server.goes_on.clear()
    calls = [asyncio.ensure_future(server.call(5)) for _ in range(4)]
    await settled()
    assert server.asked == 4
    server.goes_on.set()
    assert await asyncio.gather(*calls) == [1, 2, 3, 4]
    assert server.made == []


async def test_while_it_stands_still_one_attempt_outlasts_all_calls(server: Server) -> None:
    server.goes_on.clear()
    for _ in range(5):
        results = await asyncio.gather(*(server.call() for _ in range(4)), return_exceptions=True)
        assert {type(result) for result in results} == {TimeoutError}
    # Four before anybody knew, and one.
    assert server.asked == 5
    server.goes_on.set()
    await settled()
    assert server.made == [5]


async def test_those_who_wait_are_woken_by_what_the_attempt_brings_and_then_dial_for_themselves(
    server: Server,
) -> None:
    server.goes_on.clear()
    await asyncio.gather(server.call(), return_exceptions=True)
    calls = [asyncio.ensure_future(server.call(5)) for _ in range(3)]
    await settled()
    server.goes_on.set()
    assert await asyncio.gather(*calls) == [None, None, None]
    assert server.made == [2]
    assert await server.call() == 3


async def test_a_refusal_is_told_to_all_who_wait_and_the_next_call_tries_again(server: Server) -> None:
    server.refuses = True
    for expected in (1, 2, 3):
        with pytest.raises(ConnectionRefusedError):
            await server.call()
        assert server.asked == expected
    results = await asyncio.gather(*(server.call() for _ in range(4)), return_exceptions=True)
    assert {type(result) for result in results} == {ConnectionRefusedError}
    assert server.asked == 4
    server.refuses = False
    assert await server.call() is None
    assert server.made == [5]


async def test_an_attempt_whose_packets_were_lost_is_made_anew(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialing, "ATTEMPT_SECONDS", 0.01)
    server.goes_on.clear()
    for asked in (1, 2, 3):
        with pytest.raises(TimeoutError):
            await server.call(5 if asked > 1 else 0.01)
        assert server.asked == asked
    server.goes_on.set()
    assert await server.call(5) is None
    assert server.made == [4]


async def test_closing_gives_up_the_attempt(server: Server) -> None:
    server.goes_on.clear()
    for _ in range(2):
        await asyncio.gather(server.call(), return_exceptions=True)
    waiting = asyncio.ensure_future(server.call(5))
    await settled()
    await server.dialing.close()
    with pytest.raises(StorageUnavailable):
        await waiting
    server.goes_on.set()
    await settled()
    assert server.made == []
