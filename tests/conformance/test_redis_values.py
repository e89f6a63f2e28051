"""What lies in Redis: sealed, with a time to live, under names that never meet; what cannot be read is as nothing."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from redis.asyncio import Redis

from assemblers.records import Certainty, Fact, Focus, SessionRef, Slots, UserRef
from storage.conformance.isolation import CONFUSABLE
from storage.conformance.samples import NOW, OTHER, SESSION, USER, later
from storage.ports import FactSnapshot, SessionState
from storage.ports.answers import AnswerCopy
from storage.ports.epochs import Epochs
from storage.redis import (
    RedisAnswers,
    RedisClient,
    RedisEpochs,
    RedisFactCopies,
    RedisSessions,
    connect_redis,
)
from tests.sealing import TestKeys
from tests.unit.storage.redis.samples import fact_of

CANARY = "canary-7f3a"


class Everything:
    """All that writes to Redis, over one client."""

    def __init__(self, client: RedisClient) -> None:
        self.keys = TestKeys()
        self.sessions = RedisSessions(client, self.keys)
        self.facts = RedisFactCopies(client, self.keys)
        self.answers = RedisAnswers(client, self.keys)
        self.epochs = RedisEpochs(client)

    async def write(self, user: UserRef, text: str) -> None:
        session = SessionRef(user.tenant_id, user.user_id, "s")
        focus = Focus("customer", "c1", text, Certainty.CONFIRMED, "caller", "t1")
        await self.sessions.put(session, Slots(focus), 0, NOW, 3600)
        await self.facts.put(user, FactSnapshot(7, (fact_of(user, text),)))
        await self.answers.keep(user, "method", "request", answer(text), NOW)
        mark = (await self.epochs.read(user)).mark
        await self.epochs.fill(user, Epochs(7, 1, 1), mark, keep_unknown=True)
        await self.epochs.announce_user(user, 8, None)
        await self.epochs.announce_tenant(user.tenant_id, 2)

    async def read(self, user: UserRef) -> dict[str, object]:
        state = await self.sessions.get(SessionRef(user.tenant_id, user.user_id, "s"), NOW)
        snapshot = await self.facts.get(user)
        copy = await self.answers.find(user, "method", "request", NOW)
        return {
            "slots": state.slots.focus.label if state and state.slots.focus else None,
            "facts": [fact.value for fact in snapshot.facts] if snapshot else None,
            "answer": copy.response if copy else None,
            "epochs": (await self.epochs.read(user)).epochs,
        }


def answer(text: str) -> AnswerCopy:
    return AnswerCopy(b"d" * 32, text.encode(), Epochs(7, 1, 1))


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[RedisClient]:
    connected = await connect_redis(redis_url, limit=5)
    yield connected
    await connected.close()


@pytest.fixture
async def raw(redis_url: str) -> AsyncIterator["Redis"]:
    async with Redis.from_url(redis_url) as connected:
        yield connected


@pytest.fixture
def everything(client: RedisClient) -> Everything:
    return Everything(client)


async def names(raw: "Redis") -> list[bytes]:
    return sorted([name async for name in raw.scan_iter()])


async def test_every_key_has_a_time_to_live_and_a_tag(everything: Everything, raw: "Redis") -> None:
    await everything.write(USER, CANARY)
    found = await names(raw)
    assert len(found) == 5
    for name in found:
        assert 0 < await raw.pttl(name) <= 24 * 3600 * 1000 + 60_000
        assert name.startswith(b"muniment:{")


async def test_no_value_holds_content_in_clear(everything: Everything, raw: "Redis") -> None:
    await everything.write(USER, CANARY)
    for name in await names(raw):
        value = await raw.get(name)
        assert isinstance(value, bytes)
        assert CANARY.encode() not in value
    assert CANARY in str(await everything.read(USER))


async def test_reading_creates_nothing(everything: Everything, raw: "Redis") -> None:
    """P13."""
    await everything.write(USER, CANARY)
    before = await raw.dbsize()
    for user in (USER, OTHER, UserRef("nobody", "at-all")):
        await everything.read(user)
        mark = (await everything.epochs.read(user)).mark
        await everything.epochs.fill(UserRef("nobody", "at-all"), Epochs(0, 0, 9), mark, keep_unknown=False)
    assert await raw.dbsize() == before


async def test_ids_that_look_alike_never_meet(everything: Everything) -> None:
    braces = [UserRef("{a}", "b"), UserRef("a", "{b}"), UserRef("a}", "{b"), UserRef("}{", "")]
    users = [*CONFUSABLE, *braces]
    for number, user in enumerate(users):
        await everything.write(user, f"{CANARY} {number}")
    for number, user in enumerate(users):
        found = await everything.read(user)
        assert (found["slots"], found["facts"]) == (f"{CANARY} {number}", [f"{CANARY} {number}"])
        assert found["answer"] == f"{CANARY} {number}".encode()


async def test_a_value_moved_to_another_user_s_key_is_not_opened(
    everything: Everything, raw: "Redis"
) -> None:
    await everything.write(USER, CANARY)
    await everything.write(OTHER, "theirs")
    mine = [name for name in await names(raw) if b"3:ann" in name]
    for name in mine:
        theirs = name.replace(b"3:ann", b"3:bob")
        (target,) = [other for other in await names(raw) if other.endswith(theirs.split(b"}", 1)[1])]
        value = await raw.get(name)
        assert isinstance(value, bytes)
        await raw.set(target, value, px=60_000)
    found = await everything.read(OTHER)
    assert (found["slots"], found["facts"], found["answer"]) == (None, None, None)


@pytest.mark.parametrize("damage", ["bit", "cut", "empty", "text", "header"])
async def test_slots_that_cannot_be_read_are_none_and_can_be_replaced(
    everything: Everything, raw: "Redis", damage: str
) -> None:
    sessions = everything.sessions
    await sessions.put(SESSION, Slots(answer_format="x"), 0, NOW, 60)
    (name,) = await names(raw)
    value = await raw.get(name)
    assert isinstance(value, bytes)
    changed = {
        "bit": value[:-1] + bytes([value[-1] ^ 1]),
        "cut": value[:30],
        "empty": b"",
        "text": b"something of another application",
        # The revision and the expiry are bound to the slots.
        "header": (9).to_bytes(8, "big") + value[8:],
    }[damage]
    await raw.set(name, changed, px=60_000)
    assert await sessions.get(SESSION, NOW) is None
    assert sessions.unreadable == 1
    assert await sessions.put(SESSION, Slots(answer_format="y"), 0, NOW, 60)
    assert await sessions.get(SESSION, NOW) == SessionState(Slots(answer_format="y"), 1)


async def test_what_was_sealed_under_a_key_that_is_gone_is_none(everything: Everything) -> None:
    await everything.write(USER, CANARY)
    everything.keys.lost.add(USER)
    found = await everything.read(USER)
    assert (found["slots"], found["facts"], found["answer"]) == (None, None, None)
    counted = (everything.sessions.unreadable, everything.facts.unreadable, everything.answers.unreadable)
    assert counted == (1, 1, 1)


async def test_nothing_is_copied_of_a_user_without_a_key(everything: Everything, raw: "Redis") -> None:
    everything.keys.lost.add(USER)
    await everything.facts.put(USER, FactSnapshot(0, ()))
    await everything.answers.keep(USER, "method", "request", answer("x"), NOW)
    assert await raw.dbsize() == 0


async def test_the_first_answer_to_a_request_stays(everything: Everything) -> None:
    answers = everything.answers
    await answers.keep(USER, "method", "request", answer("first"), NOW)
    await answers.keep(USER, "method", "request", answer("second"), NOW)
    assert await answers.find(USER, "method", "request", NOW) == answer("first")
    assert await answers.find(USER, "method", "other", NOW) is None
    assert await answers.find(USER, "other", "request", NOW) is None
    assert await answers.find(OTHER, "method", "request", NOW) is None


@pytest.mark.parametrize(
    ("when", "is_there"), [(later(hours=24) - timedelta(microseconds=1), True), (later(hours=24), False)]
)
async def test_an_answer_is_kept_for_a_day(everything: Everything, when: datetime, is_there: bool) -> None:
    await everything.answers.keep(USER, "method", "request", answer("first"), NOW)
    assert (await everything.answers.find(USER, "method", "request", when) is not None) == is_there


async def test_facts_come_back_and_too_many_are_not_copied(everything: Everything) -> None:
    snapshot = FactSnapshot(7, (fact_of(USER, "a"), fact_of(USER, "b")))
    await everything.facts.put(USER, snapshot)
    assert await everything.facts.get(USER) == snapshot
    many: tuple[Fact, ...] = (fact_of(OTHER, "x" * 1_000),) * 600
    await everything.facts.put(OTHER, FactSnapshot(7, many))
    assert await everything.facts.get(OTHER) is None


async def test_scripts_survive_a_server_that_forgot_them(everything: Everything, raw: "Redis") -> None:
    await everything.sessions.put(SESSION, Slots(), 0, NOW, 60)
    await raw.script_flush()
    assert await everything.sessions.put(SESSION, Slots(), 1, NOW, 60)


@pytest.mark.parametrize("entry", [b"", b"something", b"1 2 3", b"1 2 x 1", b"-1 2 3 1"])
async def test_an_entry_of_epochs_that_cannot_be_read_is_none_and_can_be_replaced(
    everything: Everything, raw: "Redis", entry: bytes
) -> None:
    epochs = everything.epochs
    mark = (await epochs.read(USER)).mark
    await epochs.fill(USER, Epochs(1, 1, 1), mark, keep_unknown=False)
    for name in await names(raw):
        await raw.set(name, entry, px=60_000)
    state = await epochs.read(USER)
    assert (state.epochs, state.is_fresh) == (None, False)
    await epochs.announce_user(USER, 2, None)
    await epochs.fill(USER, Epochs(2, 1, 1), state.mark, keep_unknown=False)
    assert (await epochs.read(USER)).epochs == Epochs(2, 1, 1)
