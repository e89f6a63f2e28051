"""Growth: the same call against more turns in the session, more users in the store, more facts of the user.

Each variant's calls alternate with those of the smallest, so that both meet the same machine; one round gives a pair of
medians, and the figure is the median over the rounds.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import seeding
from benchmarks.callers import Caller
from benchmarks.figures import Bar, Figure, Side
from benchmarks.process import Connection, connected, running_server
from benchmarks.progress import say
from benchmarks.timing import Sample, Step, alternating

ROUNDS: Final = 9
CALLS: Final = 60
WARM_UP: Final = 20
SESSION_TURNS: Final = (2, 100, 1_000)
USERS: Final = (10, 1_000, 10_000)
FACTS: Final = (40, 4_000)
FIXED_USERS: Final = 4
"""Users that are asked for in every store; the others are only there."""

_BAR: Final = Bar(Side.AT_MOST, 10.0)


async def with_turns(connection: Connection, user_id: str) -> list[Figure]:
    """Sessions of 2, 100 and 1,000 turns. Every call adds a turn, so each round takes sessions that are fresh."""
    say("growth with the session's turns")
    rounds: list[list[Sample]] = []
    for number in range(ROUNDS):
        callers = [
            await _sessions(connection, user_id, turns, f"g{number}-{turns}") for turns in SESSION_TURNS
        ]
        rounds.append(await _measured(callers))
    return _figures("turns", SESSION_TURNS, rounds, _BAR)


async def _sessions(connection: Connection, user_id: str, turns: int, name: str) -> Step:
    """A caller that leaves a session once it has grown by a tenth, or by two turns."""
    calls = WARM_UP + CALLS
    stay = max(2, turns // 10)
    names = [f"{name}-{at}" for at in range(-(-calls // stay))]
    for session_id in names:
        await seeding.session(connection, user_id, session_id, turns)
    callers = [Caller(connection, user_id, session_id) for session_id in names]
    asked = 0

    async def step() -> None:
        nonlocal asked
        caller = callers[asked // stay]
        asked += 1
        await caller.assemble()

    return step


async def with_users(folder: Path) -> list[Figure]:
    """Stores with 10, 1,000 and 10,000 users, each behind a server of its own; the same few users ask."""
    say("growth with the store's users")
    async with AsyncExitStack() as stack:
        steps = [await stack.enter_async_context(_store(folder / f"users-{users}", users)) for users in USERS]
        rounds = [await _measured(steps) for _ in range(ROUNDS)]
    return _figures("users", USERS, rounds, _BAR)


@asynccontextmanager
async def _store(folder: Path, users: int) -> AsyncIterator[Step]:
    with running_server(folder) as ports:
        async with connected(ports) as connection:
            await seeding.policy_and_prefix(connection)
            names = [f"fixed-{number}" for number in range(FIXED_USERS)]
            for user_id in names:
                await seeding.full_user(connection, user_id)
                await seeding.session(connection, user_id, "live", 2)
            await seeding.other_users(connection, users - FIXED_USERS)
            callers = [Caller(connection, user_id, "live") for user_id in names]
            asked = 0

            async def step() -> None:
                nonlocal asked
                asked += 1
                await callers[asked % FIXED_USERS].assemble()

            yield step


async def with_facts(connection: Connection) -> list[Figure]:
    """Users with 40 and 4,000 facts, in one store."""
    say("growth with the user's facts")
    callers = []
    for facts in FACTS:
        user_id = f"facts-{facts}"
        await seeding.full_user(connection, user_id, facts)
        await seeding.session(connection, user_id, "live", 2)
        callers.append(Caller(connection, user_id, "live"))
    steps: list[Step] = [caller.assemble for caller in callers]
    return _figures("facts", FACTS, [await _measured(steps) for _ in range(ROUNDS)], None)


async def _measured(steps: Sequence[Step]) -> list[Sample]:
    await alternating(steps, WARM_UP)
    return await alternating(steps, CALLS)


def _figures(
    what: str, sizes: Sequence[int], rounds: Sequence[Sequence[Sample]], bar: Bar | None
) -> list[Figure]:
    """The median latency of each size, and the growth of each over the smallest."""
    medians = [
        Figure(f"{what}_{size}_p50", median(samples[at].p50 for samples in rounds), "ms")
        for at, size in enumerate(sizes)
    ]
    growth = [
        Figure(f"growth_{what}_{size}_over_{sizes[0]}", _growth(rounds, at), "%", bar)
        for at, size in enumerate(sizes)
        if at
    ]
    return [*medians, *growth]


def _growth(rounds: Sequence[Sequence[Sample]], at: int) -> float:
    """Percent, the median over the rounds' pairs."""
    return (median(samples[at].p50 / samples[0].p50 for samples in rounds) - 1) * 100
