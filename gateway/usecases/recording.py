"""The use case of RecordTurns: what the model answered and what tools returned, stored before it is acknowledged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from assemblers.policy.model import Policy
from assemblers.records import Role, SessionRef, Slots, ToolCall, ToolResult, Turn
from assemblers.slots import after_tool_results
from gateway.errors import FailedPrecondition, InvalidArgument, NotFound, Reason
from gateway.usecases.degradations import SLOTS_NOT_SAVED, SLOTS_UNKNOWN
from gateway.usecases.receipts import through
from gateway.usecases.resolution import PolicyCatalog
from gateway.usecases.slot_book import SlotBook
from gateway.usecases.turn_rules import check_contents
from storage.errors import StorageFull, StorageUnavailable
from storage.ports import PageRequest, Receipt, TraceStore, TranscriptStore, TurnsWritten

_PAGE = 500
_RECORDED = (Role.USER, Role.ASSISTANT, Role.TOOL)

Calls = Mapping[str, ToolCall]


@dataclass(frozen=True, slots=True)
class TurnBatch:
    """Turns to store, oldest first. `trace_id` is that of the prompt that they answer, `policy` a reference; both may
    be ""."""

    session: SessionRef
    turns: tuple[Turn, ...]
    trace_id: str = ""
    policy: str = ""


@dataclass(frozen=True, slots=True)
class TurnsRecorded:
    """How many turns were new and how many were there already, and the slots after them. `warnings` say what could not
    be done with the slots."""

    recorded: int
    duplicates: int
    slots: Slots
    warnings: tuple[str, ...] = ()


class TurnRecorder:
    """Stores turns, and lets the results of tools set slots by the policy's bindings."""

    def __init__(
        self, transcripts: TranscriptStore, traces: TraceStore, slots: SlotBook, policies: PolicyCatalog
    ) -> None:
        self._transcripts, self._traces, self._slots, self._policies = transcripts, traces, slots, policies

    async def record(self, batch: TurnBatch, now: datetime, receipt: Receipt[TurnsRecorded]) -> TurnsRecorded:
        """Store the batch in one step. Raises InvalidArgument, NotFound or FailedPrecondition with the remedy."""
        check_turns(batch.turns)
        session, policy = batch.session, await self._policy(batch)
        calls = await self._calls(batch, now)

        def change(slots: Slots) -> Slots:
            return after_results(slots, policy, batch.turns, calls)

        before = await self._known_slots(session, now)
        if before is None:
            return await self._without_slots(batch, policy, change(Slots()), now, receipt)
        after = change(before)
        # What a repeat will be told is kept with the turns, before the slots are: they may be lost, turns may not.
        kept: Receipt[TurnsWritten] = through(receipt, lambda written: _answer(written, before, after))
        written = await self._transcripts.record(session, batch.turns, now, _expiry(policy, now), kept)
        if not written.recorded or after == before:
            return _answer(written, before, after)
        try:
            after = (await self._slots.change(session, policy, now, change)).slots
        except StorageUnavailable:
            return replace(_answer(written, before, before), warnings=(SLOTS_NOT_SAVED,))
        return _answer(written, before, after)

    async def _known_slots(self, session: SessionRef, now: datetime) -> Slots | None:
        """The slots, or None where their cache does not answer: turns are stored all the same."""
        try:
            return (await self._slots.read(session, now)).slots
        except (StorageUnavailable, StorageFull):
            return None

    async def _without_slots(
        self,
        batch: TurnBatch,
        policy: Policy,
        set_here: Slots,
        now: datetime,
        receipt: Receipt[TurnsRecorded],
    ) -> TurnsRecorded:
        """Store the turns alone. `set_here` is what the batch would set in an empty session."""
        warnings = (SLOTS_UNKNOWN,) if set_here == Slots() else (SLOTS_UNKNOWN, SLOTS_NOT_SAVED)

        def answer(written: TurnsWritten) -> TurnsRecorded:
            return TurnsRecorded(written.recorded, written.duplicates, Slots(), warnings)

        kept: Receipt[TurnsWritten] = through(receipt, answer)
        expires = _expiry(policy, now)
        return answer(await self._transcripts.record(batch.session, batch.turns, now, expires, kept))

    async def _policy(self, batch: TurnBatch) -> Policy:
        reference = batch.policy
        if batch.trace_id:
            trace = await self._traces.get(batch.session.tenant_id, batch.trace_id)
            if trace.session != batch.session:
                raise NotFound
            reference = reference or trace.policy
        return (await self._policies.resolve(batch.session.tenant_id, reference)).policy

    async def _calls(self, batch: TurnBatch, now: datetime) -> Calls:
        """The calls that the batch's results answer. Raises FailedPrecondition where the session made no such call."""
        wanted = list(_results(batch.turns))
        if not wanted:
            return {}
        own = _calls_of(batch.turns)
        known = own if all(r.call_id in own for _, r in wanted) else await self._recorded(batch, now, own)
        for field, result in wanted:
            if result.call_id not in known:
                raise _unknown_call(field, result)
        return known

    async def _recorded(self, batch: TurnBatch, now: datetime, own: Calls) -> Calls:
        """The calls of the whole session: a result may be late."""
        calls: dict[str, ToolCall] = {}
        page = await self._transcripts.list(batch.session, now, PageRequest(_PAGE))
        calls |= _calls_of(page.items)
        while page.next_cursor:
            page = await self._transcripts.list(batch.session, now, PageRequest(_PAGE, page.next_cursor))
            calls |= _calls_of(page.items)
        calls.update(own)
        return calls


def check_turns(turns: Sequence[Turn]) -> None:
    """Raises InvalidArgument for turns of a role that sessions do not keep, and contents that do not fit a role."""
    for index, turn in enumerate(turns):
        if turn.role not in _RECORDED:
            raise InvalidArgument.of(
                f"turns[{index}].role",
                f"{turn.role} is no part of a conversation: record USER, ASSISTANT and TOOL turns, and register fixed "
                "instructions as a prefix",
            )
        check_contents(turn, f"turns[{index}]")


def after_results(slots: Slots, policy: Policy, turns: Iterable[Turn], calls: Calls) -> Slots:
    """The slots after the results in those turns, in their order."""
    for turn in turns:
        results = [content for content in turn.contents if isinstance(content, ToolResult)]
        if results:
            slots, _ = after_tool_results(slots, policy.slots, calls.values(), results, turn.turn_id)
    return slots


def _expiry(policy: Policy, now: datetime) -> datetime | None:
    """When turns are forgotten that the policy does not keep."""
    return None if policy.archive.keep_turns else now + policy.slots.ttl


def _answer(written: TurnsWritten, before: Slots, after: Slots) -> TurnsRecorded:
    """A batch of which everything was there already has changed no slots."""
    return TurnsRecorded(written.recorded, written.duplicates, after if written.recorded else before)


def _results(turns: Sequence[Turn]) -> Iterator[tuple[str, ToolResult]]:
    """Each result with its path in the request."""
    for place, turn in enumerate(turns):
        for index, content in enumerate(turn.contents):
            if isinstance(content, ToolResult):
                yield f"turns[{place}].contents[{index}].tool_result.call_id", content


def _calls_of(turns: Iterable[Turn]) -> dict[str, ToolCall]:
    return {c.call_id: c for turn in turns for c in turn.contents if isinstance(c, ToolCall)}


def _unknown_call(field: str, result: ToolResult) -> FailedPrecondition:
    return FailedPrecondition(
        Reason.TOOL_CALL_UNKNOWN,
        f"{field}: this session holds no call {result.call_id!r}: record the assistant's turn with the call before its "
        "result, or in the same request",
        {"field": field, "call_id": result.call_id},
    )
