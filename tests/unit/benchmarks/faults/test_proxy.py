"""The byte proxy: each toxic does what it says, at run time, on connections that exist and on new ones."""

import asyncio
import socketserver
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from threading import Thread
from time import monotonic

import pytest

from benchmarks.faults.proxy import Address, Proxy
from benchmarks.faults.proxy_process import running_proxies
from benchmarks.faults.toxics import CLEAR, REFUSED, RESET, SILENT, Conditions, Toxics, slow

Peer = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[int], Awaitable[Peer]]
SILENCE_SECONDS = 0.05


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with suppress(OSError):
            while chunk := self.request.recv(1 << 16):
                self.request.sendall(chunk)


@pytest.fixture
def upstream() -> Iterator[Address]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        serving = Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield Address("127.0.0.1", server.server_address[1])
        server.shutdown()
        serving.join()


@pytest.fixture
async def proxy(upstream: Address) -> AsyncIterator[Proxy]:
    proxy = Proxy(upstream)
    await proxy.start()
    yield proxy
    await proxy.close()


@pytest.fixture
async def dial() -> AsyncIterator[Dial]:
    async with AsyncExitStack() as stack:

        async def open_one(port: int) -> Peer:
            peer = await asyncio.open_connection("127.0.0.1", port)
            stack.push_async_callback(hang_up, peer[1])
            return peer

        yield open_one


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def say(peer: Peer, text: bytes) -> bytes:
    peer[1].write(text)
    return await peer[0].readexactly(len(text))


async def hears_nothing(peer: Peer) -> bool:
    try:
        async with asyncio.timeout(SILENCE_SECONDS):
            await peer[0].readexactly(1)
    except TimeoutError:
        return True
    return False


async def test_without_toxics_bytes_pass_both_ways(proxy: Proxy, dial: Dial):
    peer = await dial(proxy.port)
    assert await say(peer, b"x" * 200_000) == b"x" * 200_000


async def test_an_end_is_passed_on(proxy: Proxy, dial: Dial):
    reader, writer = await dial(proxy.port)
    writer.write(b"last")
    writer.write_eof()
    assert await reader.read() == b"last"


async def test_refused_resets_what_is_there_and_lets_nobody_in_until_it_is_over(proxy: Proxy, dial: Dial):
    peer = await dial(proxy.port)
    assert await say(peer, b"a") == b"a"
    await proxy.apply(REFUSED)
    with pytest.raises(ConnectionResetError):
        await peer[0].readexactly(1)
    with pytest.raises(ConnectionRefusedError):
        await dial(proxy.port)
    await proxy.apply(CLEAR)
    assert await say(await dial(proxy.port), b"b") == b"b"


async def test_silent_accepts_and_says_nothing_and_then_delivers_what_was_held(proxy: Proxy, dial: Dial):
    old = await dial(proxy.port)
    await say(old, b"a")
    await proxy.apply(SILENT)
    new = await dial(proxy.port)
    for peer in (old, new):
        peer[1].write(b"?")
        assert await hears_nothing(peer)
    await proxy.apply(CLEAR)
    assert await old[0].readexactly(1) == b"?"
    assert await new[0].readexactly(1) == b"?"


async def test_reset_accepts_and_resets(proxy: Proxy, dial: Dial):
    await proxy.apply(RESET)
    reader, _ = await dial(proxy.port)
    with pytest.raises(ConnectionResetError):
        await reader.readexactly(1)


async def test_latency_comes_in_each_direction(proxy: Proxy, dial: Dial):
    peer = await dial(proxy.port)
    await say(peer, b"a")
    await proxy.apply(slow(30))
    began = monotonic()
    await say(peer, b"b")
    assert monotonic() - began >= 0.06


async def test_bandwidth_holds_a_direction_back(proxy: Proxy, dial: Dial):
    peer = await dial(proxy.port)
    await proxy.apply(Conditions(down=Toxics(bytes_per_second=10_000)))
    began = monotonic()
    await say(peer, b"x" * 1_000)
    assert monotonic() - began >= 0.1


async def test_cut_passes_so_many_bytes_and_resets(proxy: Proxy, dial: Dial):
    await proxy.apply(Conditions(down=Toxics(cut_after=3)))
    reader, writer = await dial(proxy.port)
    writer.write(b"abcdef")
    assert await reader.readexactly(3) == b"abc"
    with pytest.raises(ConnectionResetError):
        await reader.readexactly(1)


async def test_a_server_that_is_gone_ends_the_connection(dial: Dial):
    proxy = Proxy(Address("127.0.0.1", 1))
    await proxy.start()
    reader, _ = await dial(proxy.port)
    with pytest.raises(ConnectionResetError):
        await reader.readexactly(1)
    await proxy.close()


async def test_the_process_takes_conditions_while_it_serves(upstream: Address, dial: Dial):
    with running_proxies({"one": upstream, "two": upstream}) as proxies:
        one, two = proxies.port("one"), proxies.port("two")
        proxies.apply("one", REFUSED)
        with pytest.raises(ConnectionRefusedError):
            await dial(one)
        assert await say(await dial(two), b"a") == b"a"
        proxies.apply("one", CLEAR)
        assert await say(await dial(one), b"b") == b"b"


def test_conditions_come_over_the_pipe_as_they_were():
    conditions = Conditions(RESET.gate, Toxics(1.5, 10.0, 7), Toxics())
    assert Conditions.from_json(conditions.to_json()) == conditions
