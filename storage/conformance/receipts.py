"""Idempotency: a repeat gets the first answer, another body is refused, for a day, on every kind of write."""

import asyncio
from collections.abc import Awaitable, Callable

from storage.conformance.samples import (
    ALL,
    FOREIGN,
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
from storage.errors import AlreadyExists, Erased, Repeated, RequestIdReused
from storage.ports import FactSelector, FactWritten, Receipt, Storage

Step = Callable[[str, str], Awaitable[object]]
"""A write under a request id and with the digest of a body."""


def writes(storage: Storage) -> dict[str, Step]:
    """One write of every kind; all succeed on a store with a fact, a trace and an active policy."""
    digest = policy().digest
    return {
        "record facts": lambda i, b: storage.facts.record(USER, [fact("k", i)], NOW, receipt(i, body=b)),
        "invalidate": lambda i, b: storage.facts.invalidate(
            USER, FactSelector(key="k"), "", NOW, receipt(i, body=b)
        ),
        "delete": lambda i, b: storage.facts.delete(USER, 1, "", NOW, receipt(i, body=b)),
        "archive": lambda i, b: storage.archives.append(USER, [archived("s", "a")], NOW, receipt(i, body=b)),
        "turns": lambda i, b: storage.transcripts.record(SESSION, [turn("t")], NOW, None, receipt(i, body=b)),
        "end": lambda i, b: storage.transcripts.end(SESSION, None, NOW, receipt(i, body=b)),
        "register": lambda i, b: storage.policies.register(policy(text=i), receipt(i, body=b)),
        "activate": lambda i, b: storage.policies.activate(
            "acme", "support", digest, None, "", NOW, receipt(i, body=b)
        ),
        "roll back": lambda i, b: storage.policies.roll_back("acme", "support", "", NOW, receipt(i, body=b)),
        "prefix": lambda i, b: storage.prefixes.register(prefix(text=i), receipt(i, body=b)),
        "usage": lambda i, b: storage.usage.report(usage("x1"), receipt(i, body=b)),
    }


async def furnish(storage: Storage) -> None:
    """What the writes need."""
    await storage.facts.record(USER, [fact()], NOW, receipt())
    await storage.traces.append(trace("x1"))
    for revision in (policy(text="former"), policy()):
        await storage.policies.register(revision, receipt())
        await storage.policies.activate("acme", "support", revision.digest, None, "", NOW, receipt())


class ReceiptSuite:
    """Receipts."""

    async def test_ten_repeats_of_any_write_get_the_first_answer(self, storage: Storage) -> None:
        """P57."""
        await furnish(storage)
        for name, step in writes(storage).items():
            answer = repr(await step(name, "body")).encode()
            for _ in range(10):
                with refused(Repeated) as caught:
                    await step(name, "body")
                assert caught.error.response == answer, name

    async def test_a_request_id_with_another_body_is_refused(self, storage: Storage) -> None:
        await furnish(storage)
        for name, step in writes(storage).items():
            await step(name, "body")
            with refused(RequestIdReused):
                await step(name, "another body")

    async def test_a_repeat_changes_nothing(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact("k", "1")], NOW, receipt("r"))
        before = await storage.facts.load(USER)
        with refused(Repeated):
            await storage.facts.record(USER, [fact("k", "2", later(hours=1))], NOW, receipt("r"))
        assert await storage.facts.load(USER) == before

    async def test_receipts_are_kept_for_a_day(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact("k", "1")], NOW, receipt("r"))
        with refused(Repeated):
            almost = later(hours=23, minutes=59)
            await storage.facts.record(USER, [fact("k", "2", almost)], almost, receipt("r", now=almost))
        after = later(hours=24)
        (written,) = await storage.facts.record(USER, [fact("k", "2", after)], after, receipt("r", now=after))
        assert written.fact.no == 2

    async def test_a_request_id_belongs_to_its_tenant(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact()], NOW, receipt("r"))
        await storage.facts.record(FOREIGN, [fact()], NOW, receipt("r", "umbrella", "other"))
        assert len((await storage.facts.load(FOREIGN)).facts) == 1

    async def test_a_failed_write_leaves_no_receipt(self, storage: Storage) -> None:
        await storage.transcripts.record(SESSION, [turn("t1")], NOW, None, receipt())
        for _ in range(2):
            with refused(AlreadyExists):
                await storage.transcripts.record(SESSION, [turn("t1", "other")], NOW, None, receipt("r"))
        await storage.transcripts.record(SESSION, [turn("t2")], NOW, None, receipt("r"))

    async def test_an_answer_that_cannot_be_encoded_undoes_the_write(self, storage: Storage) -> None:
        broken: Receipt[tuple[FactWritten, ...]] = receipt("r")
        object.__setattr__(broken, "encode", lambda _: 1 // 0)
        for _ in range(2):
            try:
                await storage.facts.record(USER, [fact()], NOW, broken)
            except ZeroDivisionError:
                continue
            raise AssertionError("the failure was swallowed")
        assert (await storage.facts.list(USER, FactSelector(include_retired=True), ALL)).items == ()

    async def test_of_many_equal_requests_at_once_one_is_done(self, storage: Storage) -> None:
        requests = [storage.facts.record(USER, [fact()], NOW, receipt("r")) for _ in range(20)]
        results = await asyncio.gather(*requests, return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["Repeated"] * 19 + ["tuple"]

    async def test_a_deleted_fact_is_gone_from_the_answers_that_showed_it(self, storage: Storage) -> None:
        """P55: no replay log outlives the deletion."""
        await storage.facts.record(USER, [fact("a", "canary")], NOW, receipt("r1", body="1"))
        await storage.facts.record(USER, [fact("b", "other")], NOW, receipt("r2", body="2"))
        await storage.facts.record(USER, [fact("a", "newer", later(hours=1))], NOW, receipt("r3", body="3"))
        await storage.facts.delete(USER, 1, "", NOW, receipt("r4", body="4"))
        for request_id in ("r1", "r3"):
            with refused(Erased):
                await storage.facts.record(USER, [fact()], NOW, receipt(request_id, body=request_id[1]))
        for request_id in ("r2", "r4"):
            with refused(Repeated):
                await storage.facts.record(USER, [fact()], NOW, receipt(request_id, body=request_id[1]))
