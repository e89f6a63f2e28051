"""AssembleContext: gather, assemble, make the trace durable, answer. ExplainContext is the same without writing."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from time import perf_counter_ns
from typing import NamedTuple

from assemblers.assemble import assemble
from assemblers.assembly import Assembly, Conditions, TurnInput
from assemblers.assembly import BudgetTooSmall as TooSmall
from assemblers.policy.model import HistorySection, Policy
from assemblers.records import Degradation, SectionKind, SessionRef, Slots, UserRef
from assemblers.trace.capture import TracedInputs, TraceIdentity, capture, versions_of
from assemblers.trace.commitments import Commitments
from assemblers.trace.record import Timing
from gateway import telemetry
from gateway.deadline import Deadline
from gateway.errors import AlreadyExists, BudgetTooSmall, GatewayError, Reason
from gateway.tokenizers import TokenizerError
from gateway.usecases.degradations import SLOTS_NOT_SAVED, TRACE_NOT_DURABLE
from gateway.usecases.gather import Gathered, Gatherer
from gateway.usecases.meanwhile import Meanwhile, nothing, once_sent
from gateway.usecases.models import uncountable
from gateway.usecases.open_turn import OpenTurns, check_newest, question_of
from gateway.usecases.opening import Opening, Openings
from gateway.usecases.prepared import Preparations, search_text
from gateway.usecases.remembering import SlotKeeper, with_results
from gateway.usecases.replay_trace import Replayer
from gateway.usecases.requests import ContextRequest
from gateway.usecases.resolution import Resolved, Resolver
from gateway.usecases.runtime import Runtime
from gateway.usecases.trace_keeping import TraceKeeper
from gateway.usecases.vector_search import NOT_ASKED, VectorSearch
from gateway.usecases.work import Answer, Work, asked_of, conditions_of, draft_of
from gateway.version import ENGINE_VERSION, LIBRARY_VERSIONS
from storage.errors import AlreadyExists as AlreadyStored
from storage.errors import StorageFull, StorageUnavailable
from storage.lru import Lru
from storage.ports import TraceStore

SPOOLED_ANSWERS = 1_000
"""Answers that are kept for the repeats of their turns until the ledger has their traces."""

VERSIONS = versions_of(ENGINE_VERSION, LIBRARY_VERSIONS)

NO_COMMITMENTS = Commitments({})


class _Spooled(NamedTuple):
    """An answer whose trace is not in the ledger yet, for the repeat of its turn."""

    body_sha256: bytes
    answer: Answer


@dataclass(frozen=True, slots=True)
class Stages:
    """What an assembly goes through before and after the core."""

    resolver: Resolver
    openings: Openings
    gatherer: Gatherer
    preparations: Preparations
    keeper: TraceKeeper
    slots: SlotKeeper
    open_turns: OpenTurns
    replayer: Replayer
    vectors: VectorSearch


class ContextAssembler:
    """The use case. One instance serves all calls."""

    def __init__(self, traces: TraceStore, stages: Stages, runtime: Runtime, is_shared: bool) -> None:
        """`is_shared`: slots are stored beside the trace and not after it, since both are a way over the network."""
        self._traces, self._stages, self._runtime, self._is_shared = traces, stages, runtime, is_shared
        self._spooled: Lru[tuple[SessionRef, str], _Spooled] = Lru(SPOOLED_ANSWERS)

    async def assemble(
        self, request: ContextRequest, now: datetime, deadline: Deadline, meanwhile: Meanwhile = nothing
    ) -> Answer:
        """Answer a turn and leave a durable trace; a turn that was answered is answered again.

        `meanwhile` gets the answer as it will probably be, while its trace is on its way.

        Raises the errors of `gateway.errors`; nothing is written then. Whether a turn is a repeat is looked up only
        where it is not plainly new: when its trace cannot be added, or when the answer fails today, which must not
        take away the answer that it has.
        """
        if self._stages.keeper.waiting:
            spooled = self._answered_from_spool(request)
            if spooled is not None:
                return spooled
        try:
            return await self._new(request, now, deadline, meanwhile)
        except (AlreadyStored, GatewayError):
            answered = await self._answered(request, now)
            if answered is None:
                raise
            return answered

    async def _new(
        self, request: ContextRequest, now: datetime, deadline: Deadline, meanwhile: Meanwhile
    ) -> Answer:
        """Answer a turn for the first time. Raises `AlreadyStored` where it is not."""
        started = perf_counter_ns()
        work = await self._gather(request, now, deadline, writes=True)
        gathered = perf_counter_ns()
        assembly = self._assemble(work)
        timings = (_timing("gather", started, gathered), _timing("assemble", gathered, perf_counter_ns()))
        answers = work.opening.standing.sql_answers
        pseudonym = await self._stages.keeper.pseudonym(work.user, deadline, answers)
        answer = telemetry.run("capture", self._traced, work, assembly, pseudonym, timings)
        with telemetry.stage("append"):
            kept, slots = await self._keep(work, answer, deadline, meanwhile)
        telemetry.link_trace(answer.trace_id)
        _measure(assembly)
        return self._finished(work, answer, kept, slots)

    async def _keep(
        self, work: Work, answer: Answer, deadline: Deadline, meanwhile: Meanwhile
    ) -> tuple[bool, Slots | None]:
        """Make the trace durable and remember the slots: whether the ledger has it, and the slots as they are now."""
        stages, opening = self._stages, work.opening
        keep = stages.keeper.keep(draft_of(work, answer), deadline, opening.standing.sql_answers)
        policy, now = work.resolved.policy.policy, work.conditions.now
        remember = partial(
            stages.slots.remember,
            work.request.session, policy, now, opening, work.turn, answer.assembly.slots,
        )  # fmt: skip
        if not self._is_shared:
            return await keep, await remember()
        kept, slots, _ = await asyncio.gather(keep, remember(), once_sent(partial(meanwhile, answer)))
        return kept, slots

    def _finished(self, work: Work, answer: Answer, kept: bool, slots: Slots | None) -> Answer:
        """The answer with what became of its trace and slots."""
        assembly = answer.assembly
        if kept and slots is assembly.slots:
            return answer
        said = assembly.warnings if kept else (*assembly.warnings, TRACE_NOT_DURABLE)
        if slots is None:
            said, slots = (*said, SLOTS_NOT_SAVED), assembly.slots
        answer = replace(answer, assembly=replace(assembly, slots=slots, warnings=said))
        if not kept:
            request = work.request
            self._spooled.put((request.session, request.turn.turn_id), _Spooled(request.body_sha256, answer))
        return answer

    async def explain(self, request: ContextRequest, now: datetime, deadline: Deadline) -> Answer:
        """The answer that `assemble` would give now, with its trace; nothing is written."""
        work = await self._gather(request, now, deadline, writes=False)
        assembly = self._assemble(work)
        return telemetry.run("capture", self._traced, work, assembly, self._runtime.new_id(), ())

    def _answered_from_spool(self, request: ContextRequest) -> Answer | None:
        """The answer of a turn whose trace waits on this gateway's disk."""
        found = self._spooled.get((request.session, request.turn.turn_id))
        if found is None:
            return None
        if found.body_sha256 != request.body_sha256:
            raise _turn_id_reused(request)
        return found.answer

    async def _answered(self, request: ContextRequest, now: datetime) -> Answer | None:
        try:
            found = await self._traces.answered(request.session, request.turn.turn_id, now)
        except (StorageUnavailable, StorageFull):
            # What made us look for it says more.
            return None
        if found is None:
            return None
        if not found.stands_for(request.body_sha256):
            raise _turn_id_reused(request)
        replayed = await self._stages.replayer.answer_again(request.session.tenant_id, found.trace_id)
        seen = await self._stages.openings.seen(request.session)
        return Answer(request.session, replayed.policy, found.trace_id, replayed.assembly, None, seen)

    async def _gather(self, request: ContextRequest, now: datetime, deadline: Deadline, writes: bool) -> Work:
        check_newest(request.turn)
        stages, session, user = self._stages, request.session, request.session.user
        opening = await stages.openings.open(session, request.seen, now, deadline, writes)
        resolved = await stages.resolver.resolve(request, opening.standing)
        turn = question_of(request.turn) or await stages.open_turns.loop_for(session, request.turn, now)
        policy = resolved.policy.policy
        slots = with_results(opening.state.slots, policy, turn)
        with telemetry.stage("gather"):
            gathered = await self._material(user, policy, opening, turn, slots, deadline)
        said = gathered.degradations
        if opening.missing is not None and policy.section(SectionKind.SESSION) is not None:
            said = (*said, opening.missing)
        return self._prepare(
            request,
            user,
            conditions_of(request, resolved, now),
            resolved,
            turn,
            opening,
            slots,
            gathered,
            said,
        )

    async def _material(
        self,
        user: UserRef,
        policy: Policy,
        opening: Opening,
        turn: TurnInput,
        slots: Slots,
        deadline: Deadline,
    ) -> Gathered:
        """Facts and archive, and the question's vector where the archive has any to compare it with."""
        stages, settings = self._stages, policy.settings(HistorySection)
        gathered = await stages.gatherer.gather(user, policy, opening.standing, deadline)
        archive = gathered.archive
        if settings is None or archive is None:
            return gathered
        stages.vectors.notice(user, archive)
        text = search_text(turn.question, slots, settings)
        asked = await stages.vectors.ask(settings, archive, text, deadline.remaining())
        if asked is NOT_ASKED:
            return gathered
        missing = () if asked.degradation is None else (asked.degradation,)
        return replace(gathered, vector=asked.vector, degradations=(*gathered.degradations, *missing))

    def _prepare(
        self,
        request: ContextRequest,
        user: UserRef,
        conditions: Conditions,
        resolved: Resolved,
        turn: TurnInput,
        opening: Opening,
        slots: Slots,
        gathered: Gathered,
        degradations: tuple[Degradation, ...],
    ) -> Work:
        policy, tokens, made = resolved.policy, conditions.tokens, self._stages.preparations
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
                gathered.vector,
            )
        return Work(
            request,
            user,
            resolved,
            conditions,
            turn,
            opening,
            slots,
            degradations,
            facts,
            fact_commitments,
            history,
            excerpt_commitments,
        )

    def _assemble(self, work: Work) -> Assembly:
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
                work.degradations,
            )
        except TooSmall as error:
            raise BudgetTooSmall(error.limit, error.needs) from None
        except TokenizerError as error:
            raise uncountable(error) from None
        warnings = work.resolved.warnings
        return replace(assembly, warnings=(*warnings, *assembly.warnings)) if warnings else assembly

    def _traced(self, work: Work, assembly: Assembly, pseudonym: str, timings: tuple[Timing, ...]) -> Answer:
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
                asked_of(work),
            ),
            assembly,
            VERSIONS,
            timings,
        )
        confirmation = work.opening.standing.confirmation
        seen = None if confirmation is None else confirmation.epochs
        return Answer(work.request.session, work.resolved.policy.name, trace_id, assembly, captured, seen)


def _turn_id_reused(request: ContextRequest) -> AlreadyExists:
    return AlreadyExists(
        Reason.TURN_ID_REUSED,
        "turn.turn_id: it was used in this session for another request: give each model call its own id",
        {"field": "turn.turn_id", "turn_id": request.turn.turn_id},
    )


def _measure(assembly: Assembly) -> None:
    """Count the tokens of each section and what the prompt had to do without."""
    if not telemetry.enabled():
        return
    for line in assembly.prompt.budget.sections:
        telemetry.count_tokens(line.section, line.used)
    for item in assembly.degradations:
        telemetry.count_degradation(item.section, item.reason)


def _timing(stage: str, started: int, ended: int) -> Timing:
    return Timing(stage, (ended - started) // 1000)
