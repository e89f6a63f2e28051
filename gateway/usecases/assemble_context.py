"""AssembleContext: gather, assemble, make the trace durable, answer. ExplainContext is the same without writing."""

from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter_ns
from typing import NamedTuple
from zoneinfo import ZoneInfo

from assemblers.assemble import assemble
from assemblers.assembly import Assembly, Conditions, TurnInput
from assemblers.assembly import BudgetTooSmall as TooSmall
from assemblers.policy.model import Policy, SessionSection
from assemblers.records import Role, SessionRef, Slots, ToolCall, ToolResult, UserRef
from assemblers.sections.facts import PreparedFacts
from assemblers.sections.history import HistoryInput
from assemblers.slots import after_question, after_tool_results
from assemblers.trace.capture import CapturedTrace, TracedInputs, TraceIdentity, capture, versions_of
from assemblers.trace.commitments import Commitments
from assemblers.trace.record import Asked, Timing
from gateway import telemetry
from gateway.deadline import Deadline
from gateway.errors import AlreadyExists, BudgetTooSmall, GatewayError, Reason
from gateway.tokenizers import TokenizerError
from gateway.usecases.gather import Gathered, Gatherer
from gateway.usecases.models import uncountable
from gateway.usecases.open_turn import OpenTurns, check_newest, question_of
from gateway.usecases.prepared import Preparations
from gateway.usecases.replay_trace import Replayer
from gateway.usecases.requests import ContextRequest
from gateway.usecases.resolution import Resolved, Resolver
from gateway.usecases.runtime import Runtime
from gateway.usecases.slot_book import SlotBook
from gateway.version import ENGINE_VERSION, LIBRARY_VERSIONS
from storage.errors import AlreadyExists as AlreadyStored
from storage.ports import SessionState, Storage, TraceDraft

MOST_BREAKPOINTS = 4
"""Marked where the provider caches by itself and has no limit of its own: they tell where the prefix stays equal."""

VERSIONS = versions_of(ENGINE_VERSION, LIBRARY_VERSIONS)

NO_COMMITMENTS = Commitments({})


@dataclass(frozen=True, slots=True)
class Answer:
    """A prompt with what it was made from. `captured` is None for one that was answered before."""

    session: SessionRef
    policy: str
    trace_id: str
    assembly: Assembly
    captured: CapturedTrace | None = None


# A named tuple is made four times faster than a frozen dataclass, and each call makes one.
class _Work(NamedTuple):
    """One assembly under way: everything that was resolved, read and gathered for it."""

    request: ContextRequest
    user: UserRef
    resolved: Resolved
    conditions: Conditions
    turn: TurnInput
    state: SessionState
    slots: Slots
    gathered: Gathered
    facts: PreparedFacts | None
    fact_commitments: Commitments
    history: HistoryInput | None
    excerpt_commitments: Commitments


class ContextAssembler:
    """The use case. One instance serves all calls."""

    def __init__(
        self,
        storage: Storage,
        resolver: Resolver,
        preparations: Preparations,
        replayer: Replayer,
        runtime: Runtime,
    ) -> None:
        self._storage, self._resolver, self._preparations = storage, resolver, preparations
        self._replayer, self._runtime = replayer, runtime
        self._gatherer = Gatherer(storage.facts, storage.archives)
        self._open_turns = OpenTurns(storage.transcripts, storage.traces)
        self._slots = SlotBook(storage.sessions)

    async def assemble(self, request: ContextRequest, now: datetime, deadline: Deadline) -> Answer:
        """Answer a turn and leave a durable trace; a turn that was answered is answered again.

        Raises the errors of `gateway.errors`; nothing is written then. Whether a turn is a repeat is looked up only
        where it is not plainly new: when its trace cannot be added, or when the answer fails today, which must not
        take away the answer that it has.
        """
        try:
            return await self._new(request, now, deadline)
        except (AlreadyStored, GatewayError):
            answered = await self._answered(request, now)
            if answered is None:
                raise
            return answered

    async def _new(self, request: ContextRequest, now: datetime, deadline: Deadline) -> Answer:
        """Answer a turn for the first time. Raises `AlreadyStored` where it is not."""
        started = perf_counter_ns()
        work = await self._gather(request, now, deadline)
        gathered = perf_counter_ns()
        assembly = self._assemble(work)
        timings = (_timing("gather", started, gathered), _timing("assemble", gathered, perf_counter_ns()))
        users = self._storage.users
        pseudonym = users.peek(work.user) or await users.pseudonym(work.user)
        answer = telemetry.run("capture", self._traced, work, assembly, pseudonym, timings)
        with telemetry.stage("append"):
            await self._storage.traces.append(_draft(work, answer))
        telemetry.link_trace(answer.trace_id)
        _measure(assembly)
        return await self._remember(work, answer)

    async def explain(self, request: ContextRequest, now: datetime, deadline: Deadline) -> Answer:
        """The answer that `assemble` would give now, with its trace; nothing is written."""
        work = await self._gather(request, now, deadline)
        assembly = self._assemble(work)
        return telemetry.run("capture", self._traced, work, assembly, self._runtime.new_id(), ())

    async def _answered(self, request: ContextRequest, now: datetime) -> Answer | None:
        found = await self._storage.traces.answered(request.session, request.turn.turn_id, now)
        if found is None:
            return None
        if found.body_sha256 != request.body_sha256:
            raise AlreadyExists(
                Reason.TURN_ID_REUSED,
                "turn.turn_id: it was used in this session for another request: give each model call its own id",
                {"field": "turn.turn_id", "turn_id": request.turn.turn_id},
            )
        replayed = await self._replayer.answer_again(request.session.tenant_id, found.trace_id)
        return Answer(request.session, replayed.policy, found.trace_id, replayed.assembly)

    async def _gather(self, request: ContextRequest, now: datetime, deadline: Deadline) -> _Work:
        check_newest(request.turn)
        user, resolved = request.session.user, await self._resolver.resolve(request)
        turn = question_of(request.turn) or await self._open_turns.loop_for(
            request.session, request.turn, now
        )
        state = await self._slots.read(request.session, now)
        with telemetry.stage("gather"):
            gathered = await self._gatherer.gather(user, resolved.policy.policy, deadline)
        slots = with_results(state.slots, resolved.policy.policy, turn)
        return self._prepare(
            request, user, _conditions(request, resolved, now), resolved, turn, state, slots, gathered
        )

    def _prepare(
        self,
        request: ContextRequest,
        user: UserRef,
        conditions: Conditions,
        resolved: Resolved,
        turn: TurnInput,
        state: SessionState,
        slots: Slots,
        gathered: Gathered,
    ) -> _Work:
        policy, tokens, made = resolved.policy, conditions.tokens, self._preparations
        facts, history = None, None
        fact_commitments = excerpt_commitments = NO_COMMITMENTS
        if gathered.facts is not None:
            shown = telemetry.run(
                "facts", made.facts, user, gathered.facts, policy, conditions.now, conditions.zone, tokens
            )
            facts, fact_commitments = shown.prepared, shown.commitments
        if gathered.archive is not None:
            session_id = request.session.session_id
            history, excerpt_commitments = telemetry.run(
                "history",
                made.history,
                user,
                gathered.archive,
                policy.policy,
                turn.question,
                slots,
                session_id,
                tokens,
            )
        return _Work(
            request,
            user,
            resolved,
            conditions,
            turn,
            state,
            slots,
            gathered,
            facts,
            fact_commitments,
            history,
            excerpt_commitments,
        )

    def _assemble(self, work: _Work) -> Assembly:
        try:
            assembly = telemetry.run(
                "assemble",
                assemble,
                work.conditions,
                work.turn,
                work.resolved.prefix,
                work.facts,
                work.history,
                work.request.material,
                work.slots,
                work.gathered.degradations,
            )
        except TooSmall as error:
            raise BudgetTooSmall(error.limit, error.needs) from None
        except TokenizerError as error:
            raise uncountable(error) from None
        warnings = work.resolved.warnings
        return replace(assembly, warnings=(*warnings, *assembly.warnings)) if warnings else assembly

    def _traced(self, work: _Work, assembly: Assembly, pseudonym: str, timings: tuple[Timing, ...]) -> Answer:
        trace_id = self._runtime.new_id()
        captured = capture(
            TraceIdentity(trace_id, work.request.session, pseudonym, self._runtime.new_salt()),
            work.conditions,
            TracedInputs(
                work.turn,
                work.request.material,
                work.slots,
                work.fact_commitments,
                work.excerpt_commitments,
                _asked(work),
            ),
            assembly,
            VERSIONS,
            timings,
        )
        return Answer(work.request.session, work.resolved.policy.name, trace_id, assembly, captured)

    async def _remember(self, work: _Work, answer: Answer) -> Answer:
        """Store the slots as they are after the turn; where another turn was faster, apply this one's change to its."""
        policy, session = work.resolved.policy.policy, work.request.session
        now, slots = work.conditions.now, answer.assembly.slots
        if await self._slots.put(session, policy, now, slots, work.state.revision):
            return answer
        state = await self._slots.change(
            session, policy, now, lambda slots: after_turn(slots, policy, work.turn)
        )
        return replace(answer, assembly=replace(answer.assembly, slots=state.slots))


def with_results(slots: Slots, policy: Policy, turn: TurnInput) -> Slots:
    """The slots after the newest tool results, if it is these that are being answered."""
    if turn.turn.role is not Role.TOOL:
        return slots
    calls = [c for t in turn.open_turns for c in t.contents if isinstance(c, ToolCall)]
    results = [c for c in turn.turn.contents if isinstance(c, ToolResult)]
    return after_tool_results(slots, policy.slots, calls, results, turn.turn.turn_id)[0]


def after_turn(slots: Slots, policy: Policy, turn: TurnInput) -> Slots:
    """The slots after a turn was answered, from any state before it."""
    slots = with_results(slots, policy, turn)
    if turn.turn.role is not Role.USER:
        return slots
    settings = policy.settings(SessionSection) or SessionSection()
    return after_question(slots, turn.question, turn.question_turn_id, settings.max_question_characters)


def _measure(assembly: Assembly) -> None:
    """Count the tokens of each section and what the prompt had to do without."""
    if not telemetry.enabled():
        return
    for line in assembly.prompt.budget.sections:
        telemetry.count_tokens(line.section, line.used)
    for item in assembly.degradations:
        telemetry.count_degradation(item.section, item.reason)


def _conditions(request: ContextRequest, resolved: Resolved, now: datetime) -> Conditions:
    most = resolved.profile.cache.max_breakpoints or MOST_BREAKPOINTS
    return Conditions(
        policy=resolved.policy, now=now, zone=ZoneInfo(request.time_zone), tokens=resolved.profile.tokens,
        limit=resolved.limit, formats=request.formats,
        max_breakpoints=max(0, most - request.caller_breakpoints),
    )  # fmt: skip


def _asked(work: _Work) -> Asked:
    request, profile = work.request, work.resolved.profile
    return Asked(
        policy=request.policy, provider=profile.provider, model=profile.model,
        max_input_tokens=request.budget.max_input_tokens,
        reserve_output_tokens=request.budget.reserve_output_tokens,
        labels=request.labels,
        otel_trace_id=telemetry.current_trace_id(),
    )  # fmt: skip


def _draft(work: _Work, answer: Answer) -> TraceDraft:
    request = work.request
    assert answer.captured is not None
    keeps = work.resolved.policy.policy.archive.keep_turns
    return TraceDraft(
        trace_id=answer.trace_id, session=request.session, turn_id=request.turn.turn_id, policy=answer.policy,
        create_time=work.conditions.now, record=answer.captured.record, content=answer.captured.content,
        body_sha256=request.body_sha256, turn=request.turn if keeps else None, request_id=request.request_id,
    )  # fmt: skip


def _timing(stage: str, started: int, ended: int) -> Timing:
    return Timing(stage, (ended - started) // 1000)
