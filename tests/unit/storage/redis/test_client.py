"""The client: batches, time, cancelled callers, what a broken connection does, the breaker and its probe."""

import asyncio
import time
from contextlib import suppress

import pytest

from storage.errors import StorageFull, StorageUnavailable
from storage.redis import RedisClient, RedisRefused, connect_redis
from storage.redis.address import parse_redis_url
from storage.redis.node import MAX_LINKS
from storage.redis.scripts import script
from tests.unit.storage.redis.parts import CLOSE, Answer, Command, FakeServer, bulk, echo


async def say(client: RedisClient, word: str) -> object:
    return await client.execute(b"key", b"ECHO", word.encode())


async def until_available(client: RedisClient) -> None:
    async with asyncio.timeout(5):
        while not client.is_available:  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.01)


async def eventually(client: RedisClient, word: str) -> object:
    """The answer, however busy the machine is."""
    async with asyncio.timeout(10):
        while True:
            with suppress(StorageUnavailable):
                return await say(client, word)
            await asyncio.sleep(0.01)


async def opened(client: RedisClient) -> None:
    """Fail until the breaker is open."""
    for _ in range(5):
        with pytest.raises(StorageUnavailable):
            await say(client, "x")
    assert not client.is_available


async def test_commands_of_one_turn_go_out_together_and_each_gets_its_own_reply(
    client: RedisClient, server: FakeServer
) -> None:
    await say(client, "first")
    server.chunks.clear()
    assert await asyncio.gather(*(say(client, f"w{number}") for number in range(20))) == [
        b"w%d" % number for number in range(20)
    ]
    assert server.chunks == [20]


async def test_a_command_goes_out_in_the_turn_it_was_made_in_though_nobody_awaits_it_yet(
    client: RedisClient, server: FakeServer
) -> None:
    await say(client, "first")
    pending = client.execute(b"key", b"ECHO", b"later")
    await asyncio.sleep(0.05)
    assert server.asked(b"ECHO")[-1] == (b"ECHO", b"later")
    assert await pending == b"later"


async def test_an_error_concerns_its_own_command_only(client: RedisClient, server: FakeServer) -> None:
    def answer(command: Command) -> Answer:
        return b"-ERR secret of the server\r\n" if command[-1] == b"bad" else echo(command)

    server.answer = answer
    one, bad, two = await asyncio.gather(
        say(client, "one"), say(client, "bad"), say(client, "two"), return_exceptions=True
    )
    assert (one, two) == (b"one", b"two")
    assert isinstance(bad, StorageUnavailable)
    assert "secret" not in str(bad)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("OOM command not allowed", StorageFull),
        ("READONLY You can't write", StorageUnavailable),
        ("LOADING Redis is loading", StorageUnavailable),
        ("MASTERDOWN Link with MASTER is down", StorageUnavailable),
        ("MISCONF Redis is configured to save", StorageUnavailable),
        ("NOPERM no permission", StorageUnavailable),
        ("BUSY Redis is busy", StorageUnavailable),
        ("TRYAGAIN Multiple keys", StorageUnavailable),
        ("CLUSTERDOWN The cluster is down", StorageUnavailable),
    ],
)
async def test_errors_of_the_server_are_typed(
    client: RedisClient, server: FakeServer, error: str, kind: type[Exception]
) -> None:
    server.answer = lambda command: f"-{error}\r\n".encode() if command[0] == b"ECHO" else echo(command)
    with pytest.raises(kind) as caught:
        await say(client, "x")
    assert type(caught.value) is kind


async def test_a_read_only_server_is_reconnected_to(client: RedisClient, server: FakeServer) -> None:
    """P85: behind the same name another server may be the primary by now."""
    await say(client, "first")
    server.answer = lambda command: b"-READONLY replica\r\n" if command[0] == b"ECHO" else echo(command)
    with pytest.raises(StorageUnavailable):
        await say(client, "x")
    for _ in range(5):
        # Once in a while: others who read meanwhile would wait for one connection after the other.
        with pytest.raises(StorageUnavailable):
            await say(client, "x")
    server.answer = echo
    assert await say(client, "again") == b"again"
    assert server.connections == 2


async def test_a_cancelled_caller_leaves_no_reply_for_the_next(
    client: RedisClient, server: FakeServer
) -> None:
    """S1."""
    await say(client, "first")
    caller = asyncio.create_task(say(client, "cancelled"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    assert await say(client, "mine") == b"mine"
    assert caller.cancelled()
    assert (b"ECHO", b"cancelled") in server.commands


async def test_silence_is_not_waited_for_longer_than_the_limit(
    impatient: RedisClient, server: FakeServer
) -> None:
    await eventually(impatient, "first")
    server.answer = lambda _: None
    begun = time.monotonic()
    with pytest.raises(StorageUnavailable):
        await say(impatient, "x")
    # The limit is 0.1 s; the driver's own would be minutes.
    assert time.monotonic() - begun < 5


async def test_a_reply_that_came_too_late_is_nobody_s(impatient: RedisClient, server: FakeServer) -> None:
    await eventually(impatient, "first")
    server.answer = lambda _: None
    with pytest.raises(StorageUnavailable):
        await say(impatient, "late")
    server.answer = echo
    assert [await eventually(impatient, word) for word in ("a", "b")] == [b"a", b"b"]


async def test_a_connection_that_breaks_within_a_batch_fails_what_was_not_answered_and_no_more(
    client: RedisClient, server: FakeServer
) -> None:
    await say(client, "first")
    server.answer = lambda command: CLOSE if command[-1] == b"w5" else echo(command)
    results = await asyncio.gather(
        *(say(client, f"w{number}") for number in range(10)), return_exceptions=True
    )
    assert all(isinstance(result, StorageUnavailable) for result in results)
    assert await say(client, "next") == b"next"


async def test_connections_that_were_closed_while_idle_cost_nobody_a_failure(
    client: RedisClient, server: FakeServer
) -> None:
    await asyncio.gather(*(say(client, f"w{number}") for number in range(10)))
    server.drop_connections()
    await asyncio.sleep(0.02)
    assert await say(client, "next") == b"next"


async def test_there_are_never_more_connections_than_allowed(client: RedisClient, server: FakeServer) -> None:
    async def one(number: int) -> None:
        for _ in range(number % 5):
            await asyncio.sleep(0)
        assert await say(client, f"w{number}") == b"w%d" % number

    await asyncio.gather(*(one(number) for number in range(200)))
    assert server.connections <= MAX_LINKS


async def test_five_failures_open_the_breaker_and_then_nobody_waits(
    client: RedisClient, server: FakeServer
) -> None:
    await server.stop()
    await opened(client)
    with pytest.raises(StorageUnavailable, match="is not asked"):
        await say(client, "x")


async def test_the_probe_closes_the_breaker_once_the_server_is_back(
    client: RedisClient, server: FakeServer
) -> None:
    await server.stop()
    await opened(client)
    await server.start()
    await until_available(client)
    assert await say(client, "back") == b"back"


async def test_a_server_that_loads_is_not_back(client: RedisClient, server: FakeServer) -> None:
    await server.stop()
    await opened(client)
    server.answer = lambda command: b"-LOADING\r\n" if command[0] == b"PING" else echo(command)
    await server.start()
    async with asyncio.timeout(5):
        while len(server.asked(b"PING")) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert not client.is_available
    server.answer = echo
    await until_available(client)


async def test_a_silent_server_is_probed_and_found_again(impatient: RedisClient, server: FakeServer) -> None:
    await eventually(impatient, "first")
    server.answer = lambda _: None
    await asyncio.gather(*(say(impatient, f"w{number}") for number in range(30)), return_exceptions=True)
    while impatient.is_available:
        with pytest.raises(StorageUnavailable):
            await say(impatient, "x")
    server.answer = echo
    await until_available(impatient)
    assert await eventually(impatient, "back") == b"back"


async def test_a_script_is_sent_by_digest_and_by_text_where_it_is_not_known(
    client: RedisClient, server: FakeServer
) -> None:
    known = script("return ARGV[1]")

    def answer(command: Command) -> Answer:
        if command[0] == b"EVALSHA" and not server.asked(b"EVAL"):
            return b"-NOSCRIPT No matching script\r\n"
        return echo(command)

    server.answer = answer
    assert await client.run(known, b"key", b"one") == b"one"
    assert await client.run(known, b"key", b"two") == b"two"
    assert [command[:2] for command in server.commands if command[0].startswith(b"EVAL")] == [
        (b"EVALSHA", known.digest),
        (b"EVAL", b"return ARGV[1]"),
        (b"EVALSHA", known.digest),
    ]


async def test_a_closed_client_refuses_and_leaves_nothing_open(server: FakeServer) -> None:
    client = RedisClient(parse_redis_url(f"redis://127.0.0.1:{server.port}"))
    waiting = asyncio.create_task(say(client, "x"))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(StorageUnavailable):
        await waiting
    with pytest.raises(StorageUnavailable):
        await say(client, "y")


@pytest.mark.parametrize("turns", range(6))
async def test_closing_answers_everybody_whatever_was_under_way(server: FakeServer, turns: int) -> None:
    client = RedisClient(parse_redis_url(f"redis://127.0.0.1:{server.port}"), limit=5)
    await client.start()
    server.answer = lambda _: None
    waiting = [asyncio.create_task(say(client, f"w{number}")) for number in range(10)]
    for _ in range(turns):
        await asyncio.sleep(0)
    await client.close()
    async with asyncio.timeout(1):
        results = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(result) for result in results} == {StorageUnavailable}


async def test_a_start_without_a_server_is_a_start(server: FakeServer) -> None:
    await server.stop()
    client = await connect_redis(f"redis://127.0.0.1:{server.port}")
    with pytest.raises(StorageUnavailable):
        await say(client, "x")
    await server.start()
    assert await say(client, "there") == b"there"
    await client.close()


@pytest.mark.parametrize("refusal", [b"-WRONGPASS invalid\r\n", b"-ERR invalid password\r\n"])
async def test_a_wrong_password_refuses_the_start(server: FakeServer, refusal: bytes) -> None:
    server.answer = lambda command: refusal if command[0] == b"AUTH" else echo(command)
    with pytest.raises(RedisRefused, match="password"):
        await connect_redis(f"redis://user:secret@127.0.0.1:{server.port}")


async def test_a_password_that_is_missing_refuses_the_start(server: FakeServer) -> None:
    server.answer = lambda _: b"-NOAUTH Authentication required.\r\n"
    with pytest.raises(RedisRefused, match="password"):
        await connect_redis(f"redis://127.0.0.1:{server.port}")


async def test_large_values_pass(client: RedisClient) -> None:
    word = "x" * 300_000
    assert await say(client, word) == word.encode()


async def test_binary_replies_come_as_they_are(client: RedisClient, server: FakeServer) -> None:
    value = bytes(range(256))
    server.answer = lambda command: bulk(value) if command[0] == b"GET" else echo(command)
    assert await client.execute(b"key", b"GET", b"key") == value
