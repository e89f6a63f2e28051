"""Several processes on one store: what a gateway alone may rely on must hold between gateways.

Each opens the backend for itself, so nothing but the store is shared. For backends that admit several processes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from assemblers.records import FactState, UserRef
from storage.conformance.backend import Backend, opened
from storage.conformance.samples import (
    ALL,
    NOW,
    SESSION,
    USER,
    archived,
    fact,
    later,
    policy,
    prefix,
    receipt,
    refused,
    trace,
    turn,
    usage,
)
from storage.errors import EtagMismatch, Repeated
from storage.ledger import verify
from storage.ports import FactSelector, Receipt, SessionEnded, Storage, TurnsWritten

PROCESSES = 3
EACH = 12

Step = Callable[[Storage, int], Awaitable[object]]


@asynccontextmanager
async def processes(backend: Backend) -> AsyncIterator[list[Storage]]:
    """Several stores open at once."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(opened(backend)) for _ in range(PROCESSES)]


async def from_all(stores: list[Storage], step: Step) -> list[object]:
    """What the step gives or raises at every process, `EACH` times at each and all at once; numbers run through."""
    steps = [
        step(store, number * len(stores) + at) for number in range(EACH) for at, store in enumerate(stores)
    ]
    return await asyncio.gather(*steps, return_exceptions=True)


def names(results: list[object]) -> dict[str, int]:
    """How many results there are of each kind."""
    kinds = [type(result).__name__ for result in results]
    return {kind: kinds.count(kind) for kind in kinds}


class ProcessSuite:
    """Writers that only meet in the store."""

    async def test_facts_of_one_key_are_all_kept_and_one_is_current(self, backend: Backend) -> None:
        async with processes(backend) as stores:
            results = await from_all(
                stores, lambda store, n: store.facts.record(USER, [fact("k", n)], NOW, receipt())
            )
            assert names(results) == {"tuple": PROCESSES * EACH}
            facts = (await stores[0].facts.list(USER, FactSelector(include_retired=True), ALL)).items
            assert [item.no for item in facts] == list(range(1, PROCESSES * EACH + 1))
            assert [item.no for item in facts if item.state is FactState.CURRENT] == [facts[-1].no]
            assert (await stores[1].epochs.read(USER)).facts == PROCESSES * EACH

    async def test_one_request_is_done_once_wherever_it_is_sent(self, backend: Backend) -> None:
        """P57: a retry may reach another gateway while the first is still at it."""
        async with processes(backend) as stores:
            results = await from_all(
                stores, lambda store, _: store.facts.record(USER, [fact("k", "v")], NOW, receipt("r"))
            )
            assert names(results) == {"tuple": 1, "Repeated": PROCESSES * EACH - 1}
            answers = {result.response for result in results if isinstance(result, Repeated)}
            assert len(answers) == 1
            assert (await stores[0].epochs.read(USER)).facts == 1

    async def test_a_request_id_stands_for_one_body_between_users_too(self, backend: Backend) -> None:
        async with processes(backend) as stores:
            results = await from_all(
                stores,
                lambda store, n: store.facts.record(
                    UserRef("acme", f"u{n}"), [fact()], NOW, receipt("r", body=str(n))
                ),
            )
            assert names(results) == {"tuple": 1, "RequestIdReused": PROCESSES * EACH - 1}

    async def test_turns_recorded_and_turns_answered_are_all_kept(self, backend: Backend) -> None:
        async def both(store: Storage, n: int) -> None:
            await asyncio.gather(
                store.transcripts.record(SESSION, [turn(f"r{n}")], NOW, None, receipt()),
                store.traces.append(trace(f"x{n}", turn_id=f"a{n}", kept=turn(f"a{n}"))),
            )

        async with processes(backend) as stores:
            assert names(await from_all(stores, both)) == {"NoneType": PROCESSES * EACH}
            kept = [item.turn_id for item in (await stores[0].transcripts.list(SESSION, NOW, ALL)).items]
            expected = [f"{kind}{n}" for n in range(PROCESSES * EACH) for kind in "ra"]
            assert sorted(kept) == sorted(expected)

    async def test_all_append_to_one_chain(self, backend: Backend) -> None:
        async with processes(backend) as stores:
            await from_all(stores, lambda store, n: store.traces.append(trace(f"x{n}")))
            chain = await stores[0].traces.chain("acme", 0, 1_000)
            assert [stored.seal.sequence for stored in chain] == list(range(1, PROCESSES * EACH + 1))
            assert verify(chain) is None

    async def test_a_turn_is_answered_at_one_process_only(self, backend: Backend) -> None:
        async with processes(backend) as stores:
            results = await from_all(
                stores, lambda store, n: store.traces.append(trace(f"x{n}", turn_id="t", kept=turn("t")))
            )
            assert names(results) == {"Seal": 1, "AlreadyExists": PROCESSES * EACH - 1}
            assert len(await stores[0].traces.chain("acme", 0, 1_000)) == 1

    async def test_a_user_has_one_pseudonym_everywhere(self, backend: Backend) -> None:
        async with processes(backend) as stores:
            assert len(set(await from_all(stores, lambda store, _: store.users.pseudonym(USER)))) == 1

    async def test_excerpts_archived_at_once_are_numbered_once(self, backend: Backend) -> None:
        async with processes(backend) as stores:
            await from_all(
                stores,
                lambda store, n: store.archives.append(
                    USER, [archived(f"s{n % 5}", "a", f"b{n}")], NOW, receipt()
                ),
            )
            stores[0].archives.forget(USER)
            excerpts = (await stores[0].archives.load(USER)).excerpts
            assert sorted(item.no for item in excerpts) == list(range(1, 11))

    async def test_revisions_and_reports_are_numbered_once(self, backend: Backend) -> None:
        async def all_three(store: Storage, n: int) -> None:
            await store.policies.register(policy(text=str(n % 20)), receipt())
            await store.prefixes.register(prefix(text=str(n % 20)), receipt())
            await store.traces.append(trace(f"x{n}"))
            await store.usage.report(usage(f"x{n}", n), receipt())

        async with processes(backend) as stores:
            assert names(await from_all(stores, all_three)) == {"NoneType": PROCESSES * EACH}
            store = stores[0]
            assert len((await store.policies.revisions("acme", "support", ALL)).items) == 20
            assert len((await store.prefixes.revisions("acme", "main", ALL)).items) == 20
            store.usage.forget_tenant("acme")
            reported = await store.usage.observations("acme", "anthropic")
            assert sorted(raw for raw, _ in reported) == list(range(PROCESSES * EACH))
            # Each registration is told, and of the reports the first sixteen and then each sixteenth.
            told = sum(number <= 16 or number % 16 == 0 for number in range(1, PROCESSES * EACH + 1))
            assert (await store.epochs.read(USER)).tenant == 40 + told

    async def test_of_those_who_change_what_they_have_read_one_wins(self, backend: Backend) -> None:
        """P79."""
        async with processes(backend) as stores:
            digests = [policy(text=str(n)).digest for n in range(PROCESSES * EACH)]
            for n in range(PROCESSES * EACH):
                await stores[0].policies.register(policy(text=str(n)), receipt())
            etag = (await stores[0].policies.head("acme", "support")).etag
            results = await from_all(
                stores,
                lambda store, n: store.policies.activate(
                    "acme", "support", digests[n], None, etag, NOW, receipt()
                ),
            )
            assert names(results) == {"PolicyHead": 1, "EtagMismatch": PROCESSES * EACH - 1}
            now = (await stores[1].policies.head("acme", "support")).etag
            assert {result.current for result in results if isinstance(result, EtagMismatch)} == {now}

    async def test_one_policy_is_the_default_whoever_made_it_so(self, backend: Backend) -> None:
        async def make_default(store: Storage, n: int) -> None:
            revision = policy(f"p{n}")
            await store.policies.register(revision, receipt())
            await store.policies.activate(
                "acme", f"p{n}", revision.digest, as_default=True, etag="", now=NOW, receipt=receipt()
            )

        async with processes(backend) as stores:
            assert names(await from_all(stores, make_default)) == {"NoneType": PROCESSES * EACH}
            heads = (await stores[0].policies.heads("acme", ALL)).items
            assert len([head for head in heads if head.is_default]) == 1

    async def test_what_another_process_wrote_is_there_once_memory_is_told(self, backend: Backend) -> None:
        async with processes(backend) as (writer, reader, _):
            one, two = policy(text="1"), policy(text="2")
            await _fill(writer, one.digest, 1)
            assert await _seen(reader) == (["a"], ["a"], one.document, "p1", ((1, 110),))
            await _fill(writer, two.digest, 2)
            reader.facts.forget(USER)
            reader.archives.forget(USER)
            for store in (reader.policies, reader.prefixes, reader.usage):
                store.forget_tenant("acme")
            assert await _seen(reader) == (
                ["a", "b"], ["a", "b"], two.document, "p2", ((1, 110), (2, 110))
            )  # fmt: skip

    async def test_a_turn_that_one_process_has_acknowledged_is_there_for_any_other_at_once(
        self, backend: Backend
    ) -> None:
        """P67."""
        async with processes(backend) as stores:
            for n in range(60):
                writer, reader = stores[n % PROCESSES], stores[(n + 1) % PROCESSES]
                await writer.transcripts.record(SESSION, [turn(f"t{n}")], NOW, None, receipt())
                (latest,) = await reader.transcripts.since_last_question(SESSION, NOW)
                assert latest.turn_id == f"t{n}"

    async def test_a_session_ends_once_though_turns_keep_coming(self, backend: Backend) -> None:
        """P51: of what was recorded before the end nothing comes back, and what comes after is not lost."""

        async def record_or_end(store: Storage, n: int) -> object:
            if n == PROCESSES * EACH // 2:
                return await store.transcripts.end(SESSION, None, NOW, receipt())
            return await store.transcripts.record(SESSION, [turn(f"t{n}")], NOW, None, receipt())

        async with processes(backend) as stores:
            results = await from_all(stores, record_or_end)
            (ended,) = [result for result in results if isinstance(result, SessionEnded)]
            left = (await stores[0].transcripts.list(SESSION, NOW, ALL)).items
            assert ended.turns + len(left) == PROCESSES * EACH - 1

    async def test_expired_receipts_and_turns_of_a_busy_tenant_are_swept_without_harm(
        self, backend: Backend
    ) -> None:
        async with processes(backend) as stores:
            for n in range(10):
                await stores[0].transcripts.record(
                    SESSION, [turn(f"o{n}")], NOW, later(hours=1), receipt(f"o{n}")
                )
            now = later(days=2)

            async def record(store: Storage, n: int) -> None:
                for part in range(8):
                    name = f"{n}-{part}"
                    written: Receipt[TurnsWritten] = receipt(name, now=now)
                    await store.transcripts.record(SESSION, [turn(name, when=now)], now, None, written)

            assert names(await from_all(stores, record)) == {"NoneType": PROCESSES * EACH}
            assert len((await stores[1].transcripts.list(SESSION, now, ALL)).items) == 8 * PROCESSES * EACH
            with refused(Repeated):
                await stores[2].transcripts.record(SESSION, [turn("x")], now, None, receipt("0-0", now=now))


async def _fill(store: Storage, digest: str, number: int) -> None:
    """The number is in everything."""
    name = " ab"[number]
    await store.facts.record(USER, [fact(name, name)], NOW, receipt())
    await store.archives.append(USER, [archived(f"s{number}", name)], NOW, receipt())
    await store.policies.register(policy(text=str(number)), receipt())
    await store.policies.activate("acme", "support", digest, None, "", NOW, receipt())
    await store.prefixes.register(prefix(text=f"p{number}"), receipt())
    await store.traces.append(trace(f"x{number}"))
    await store.usage.report(usage(f"x{number}", number), receipt())


async def _seen(store: Storage) -> tuple[object, ...]:
    active, newest = await store.policies.active("acme", ""), await store.prefixes.find("acme", "main", "")
    return (
        [item.value for item in (await store.facts.load(USER)).facts],
        [item.text for item in (await store.archives.load(USER)).excerpts],
        active and active.document,
        newest and newest.text,
        await store.usage.observations("acme", "anthropic"),
    )
