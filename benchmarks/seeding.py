"""Fills a store through the API: policy and prefix, users with facts and archives, sessions with turns."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from google.protobuf.field_mask_pb2 import FieldMask

from benchmarks import scene
from benchmarks.process import Connection
from benchmarks.progress import counter
from muniment.v1 import (
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    types_pb2,
)

_CONCURRENT: Final = 32
_FACTS_A_CALL: Final = 256
_TURNS_A_CALL: Final = 64
_SMALL_FACTS, _SMALL_TURNS = 3, 4
"""What each of the many other users has."""


class SeedingFailed(RuntimeError):
    """The store did not take what it was given."""


async def policy_and_prefix(connection: Connection) -> None:
    """Register and activate both."""
    prefix = prefix_pb2.RegisterPrefixRevisionRequest(
        tenant_id=scene.TENANT, prefix_id=scene.PREFIX_ID, text=scene.prefix_text()
    )
    await connection.prefixes.RegisterPrefixRevision(prefix)
    registered = await connection.policies.RegisterPolicyRevision(
        policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id=scene.TENANT, yaml=scene.POLICY.encode())
    )
    name = registered.revision.name
    activate = policy_service_pb2.ActivatePolicyRevisionRequest(name=name, tenant_default=True)
    await connection.policies.ActivatePolicyRevision(activate)


async def full_user(connection: Connection, user_id: str, facts: int = len(scene.FACT_KEYS)) -> None:
    """A user with 700 archived turns and that many facts."""
    texts = scene.Texts(2)
    await _record_facts(connection, user_id, scene.facts(texts, facts))
    past = scene.archive(texts, scene.ARCHIVED_SESSIONS, scene.TURNS_PER_SESSION)
    await _import(connection, user_id, past)


async def other_users(connection: Connection, count: int) -> None:
    """So many users with a few facts and turns each."""
    step = counter("users", count)

    async def one(number: int) -> None:
        texts, user_id = scene.Texts(1000 + number), f"other-{number}"
        await _record_facts(connection, user_id, scene.facts(texts, _SMALL_FACTS))
        await _import(connection, user_id, scene.archive(texts, 1, _SMALL_TURNS))
        step()

    await _all(one, range(count))


async def session(connection: Connection, user_id: str, session_id: str, turns: int) -> None:
    """A session with that many recorded turns, questions and answers in turn, and slots that are set."""
    texts, ref = scene.Texts(3), scene.session_ref(user_id, session_id)
    roles = (types_pb2.ROLE_USER, types_pb2.ROLE_ASSISTANT)
    said = [scene.turn(f"r{at}", texts.sentence(12), roles[at % 2]) for at in range(turns)]
    for first in range(0, turns, _TURNS_A_CALL):
        batch = said[first : first + _TURNS_A_CALL]
        await connection.sessions.RecordTurns(session_pb2.RecordTurnsRequest(session=ref, turns=batch))
    slots = types_pb2.Slots(
        focus=types_pb2.Focus(
            type="supplier", id="S-1", label="Meyer", certainty=types_pb2.CERTAINTY_CONFIRMED
        ),
        filters=[types_pb2.Filter(key="city", value="Hamburg", certainty=types_pb2.CERTAINTY_CONFIRMED)],
    )
    await connection.sessions.UpdateSlots(
        session_pb2.UpdateSlotsRequest(
            session=ref, slots=slots, update_mask=FieldMask(paths=["focus", "filters"])
        )
    )


async def _record_facts(connection: Connection, user_id: str, facts: list[fact_pb2.Fact]) -> None:
    for first in range(0, len(facts), _FACTS_A_CALL):
        answer = await connection.facts.RecordFacts(
            fact_pb2.RecordFactsRequest(
                user=scene.user_ref(user_id), facts=facts[first : first + _FACTS_A_CALL]
            )
        )
        refused = [r.detail for r in answer.results if r.verdict != fact_pb2.FactResult.VERDICT_ACCEPTED]
        if refused:
            raise SeedingFailed(f"a fact was refused: {refused[0]}")


async def _import(connection: Connection, user_id: str, past: list[history_pb2.PastSession]) -> None:
    request = history_pb2.ImportHistoryRequest(user=scene.user_ref(user_id), sessions=past)
    answer = await connection.history.ImportHistory(request)
    turns = sum(len(one.turns) for one in past)
    if answer.excerpt_count != turns:
        raise SeedingFailed(f"{answer.excerpt_count} excerpts came of {turns} turns")


async def _all(work: Callable[[int], Awaitable[None]], numbers: Iterable[int]) -> None:
    """All of it, a few at once."""
    waiting = iter(numbers)

    async def worker() -> None:
        for number in waiting:
            await work(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(_CONCURRENT):
            group.create_task(worker())
