"""trace.proto: traces, their candidates and explanations as messages. Protobuf is built from the columns here only."""

from collections.abc import Mapping
from datetime import timedelta

from assemblers.assembly import CandidateBlock, HistorySummary
from assemblers.records import Outcome, SectionKind
from assemblers.trace.candidates import Candidate, Location, candidates, with_refs
from assemblers.trace.descent import Step, StepKind
from assemblers.trace.findings import Absence, Finding
from assemblers.trace.record import Timing, TraceContent, TraceRecord, Versions
from gateway.convert.enums import SECTION_TO
from gateway.convert.instants import instant_to, optional_to
from gateway.convert.prompt import FORMAT_TO, REASON_TO, budget_to, degradation_to, prompt_to
from gateway.convert.trace_sources import Sources
from gateway.convert.types import session_to
from gateway.names import trace_name
from gateway.usecases.opened_trace import OpenedTrace
from gateway.usecases.replay_trace import Replayed
from gateway.usecases.traces import ExplainedAbsence, ExplainedItem, ItemAppearance, ShownTrace
from gateway.version import ENGINE_VERSION
from muniment.v1 import prompt_pb2, trace_pb2, types_pb2
from storage.ports import Seal

MILLION = 1_000_000

OUTCOME_TO: Mapping[Outcome, trace_pb2.Outcome.ValueType] = {
    outcome: trace_pb2.Outcome.Value(f"OUTCOME_{outcome}") for outcome in Outcome
}
STEP_TO: Mapping[StepKind, trace_pb2.DescentStep.Kind.ValueType] = {
    kind: trace_pb2.DescentStep.Kind.Value(f"KIND_{kind}") for kind in StepKind
}
FINDING_TO: Mapping[Finding, trace_pb2.AbsenceExplanation.Finding.ValueType] = {
    finding: trace_pb2.AbsenceExplanation.Finding.Value(f"FINDING_{finding}") for finding in Finding
}


def shown_to(shown: ShownTrace) -> trace_pb2.Trace:
    """The message of a trace with its candidates."""
    message = trace_to(shown.trace)
    message.candidates.extend(candidates_to(shown))
    return message


def trace_to(trace: OpenedTrace) -> trace_pb2.Trace:
    """The message of a trace as lists show it, without candidates.

    Of one whose content was erased it has what the record holds: figures and fates, but no texts, labels or ids of
    foreign systems.
    """
    record, content = trace.record, trace.readable()
    message = trace_pb2.Trace(
        name="" if trace.seal is None else trace.name,
        session=session_to(trace.session),
        turn_id=trace.turn_id,
        policy_revision=record.policy,
        prefix_revision=record.prefix,
        now=instant_to(record.now),
        time_zone=record.zone,
        model=_model_to(record, content),
        formats=[FORMAT_TO[name] for name in record.formats],
        history=_history_to(record.history, content),
        timings=[_timing_to(timing) for timing in record.timings],
        totals=_totals_to(record, content),
        seal=None if trace.seal is None else _seal_to(trace.seal),
    )
    _write_versions(message, record.versions)
    _write_words(message, content)
    return message


def candidates_to(shown: ShownTrace) -> list[trace_pb2.Candidate]:
    """All candidates, by section in byte order."""
    order = list(SectionKind)
    blocks = with_refs(shown.trace.record, shown.trace.readable())
    in_order: list[CandidateBlock] = sorted(blocks, key=lambda block: order.index(block.section))
    sources = Sources(shown.trace, shown.observed)
    return [candidate_to(item, sources) for item in candidates(in_order)]


def candidate_to(item: Candidate, sources: Sources) -> trace_pb2.Candidate:
    """A candidate."""
    message = trace_pb2.Candidate(
        item_id=item.item_id,
        section=SECTION_TO[item.section],
        source=sources.of(item),
        outcome=OUTCOME_TO[item.outcome],
        reason=REASON_TO[item.reason],
        policy_field=item.policy_field,
        tokens=item.tokens,
    )
    for leg, score in sorted(item.scores.items(), key=_total_first):
        message.scores.add(name=leg, value=score / MILLION)
    if item.location is not None:
        message.location.CopyFrom(location_to(item.location))
    return message


def _total_first(score: tuple[str, int]) -> tuple[bool, str]:
    return score[0] != "total", score[0]


def location_to(place: Location) -> trace_pb2.Location:
    """A run of bytes. Set even where all its figures are 0."""
    return trace_pb2.Location(
        message=place.message, part=place.part, offset=place.offset, length=place.length
    )


def explanation_to(explained: ExplainedItem) -> trace_pb2.ExplainItemResponse:
    """Why an item is there."""
    explanation, sources = explained.explanation, Sources(explained.shown.trace, explained.shown.observed)
    chosen = candidate_to(explanation.candidate, sources)
    if explanation.locations and not chosen.HasField("location"):
        # The columns do not say where a tool is; the prompt does.
        chosen.location.CopyFrom(location_to(explanation.locations[0]))
    return trace_pb2.ExplainItemResponse(
        candidate=chosen,
        text=explanation.text,
        steps=[_step_to(step) for step in explanation.steps],
        won_over=[candidate_to(other, sources) for other in explanation.won_over],
    )


def absences_to(explained: ExplainedAbsence) -> trace_pb2.ExplainAbsenceResponse:
    """Why things are not there."""
    sources = Sources(explained.shown.trace, explained.shown.observed)
    return trace_pb2.ExplainAbsenceResponse(
        explanations=[_absence_to(item, sources) for item in explained.absences]
    )


def appearance_to(item: ItemAppearance) -> trace_pb2.Appearance:
    """A prompt in which an item appeared."""
    session = item.session
    return trace_pb2.Appearance(
        trace=trace_name(session.tenant_id, item.trace_id),
        session_id=session.session_id,
        turn_id=item.turn_id,
        time=instant_to(item.time),
        outcome=OUTCOME_TO[item.outcome],
        location=None if item.location is None else location_to(item.location),
    )


def replayed_to(replayed: Replayed) -> trace_pb2.ReplayTraceResponse:
    """A prompt made again, beside what was recorded of it."""
    comparison = replayed.comparison
    return trace_pb2.ReplayTraceResponse(
        prompt=prompt_to(replayed.assembly, replayed.trace.user),
        identical=comparison.identical,
        recorded_sha256=comparison.recorded_sha256,
        replayed_sha256=comparison.replayed_sha256,
        recorded_engine_version=replayed.trace.record.versions.engine,
        replayed_engine_version=ENGINE_VERSION,
    )


def _absence_to(item: Absence, sources: Sources) -> trace_pb2.AbsenceExplanation:
    return trace_pb2.AbsenceExplanation(
        finding=FINDING_TO[item.finding],
        item_id=item.item_id,
        text=item.text,
        reason=prompt_pb2.REASON_UNSPECIFIED if item.reason is None else REASON_TO[item.reason],
        policy_field=item.policy_field,
        remedy=item.remedy,
        figures=[trace_pb2.Figure(name=name, value=value) for name, value in item.figures.items()],
        candidate=None if item.candidate is None else candidate_to(item.candidate, sources),
    )


def _step_to(step: Step) -> trace_pb2.DescentStep:
    return trace_pb2.DescentStep(
        kind=STEP_TO[step.kind],
        time=optional_to(step.time),
        actor=step.actor,
        description=step.description,
        reference=step.reference,
    )


def _model_to(record: TraceRecord, content: TraceContent) -> types_pb2.ModelProfile:
    """The model; what the caller called it is content."""
    return types_pb2.ModelProfile(
        provider=content.asked.provider,
        model=content.asked.model,
        tokenizer=record.counting.tokenizer,
    )


def _history_to(summary: HistorySummary | None, content: TraceContent) -> trace_pb2.HistorySummary | None:
    if summary is None:
        return None
    return trace_pb2.HistorySummary(
        matched=summary.matched,
        cutoff=summary.cutoff_micros / MILLION,
        archive_epoch=summary.archive_epoch,
        query_terms=content.query_terms,
        archive_end_number=summary.archive_end_no,
        embedder=summary.embedder,
        similarity_floor=summary.floor_permille / 1000,
        embedded_count=summary.embedded,
    )


def _totals_to(record: TraceRecord, content: TraceContent) -> prompt_pb2.BudgetReport:
    totals = budget_to(record.budget)
    for line, message in zip(record.budget.sections, totals.sections, strict=True):
        message.note = content.notes.get(line.section, "")
    return totals


def _timing_to(timing: Timing) -> trace_pb2.StageTiming:
    message = trace_pb2.StageTiming(stage=timing.stage)
    message.duration.FromTimedelta(timedelta(microseconds=timing.micros))
    return message


def _seal_to(seal: Seal) -> trace_pb2.Seal:
    return trace_pb2.Seal(
        sequence=seal.sequence, record_hash=seal.record_hash.hex(), previous_hash=seal.previous_hash.hex()
    )


def _write_versions(message: trace_pb2.Trace, versions: Versions) -> None:
    message.engine_version = versions.engine
    message.renderer_version = versions.renderer
    message.index_format = versions.index_format
    for name, version in sorted(versions.libraries.items()):
        message.libraries.add(name=name, version=version)


def _write_words(message: trace_pb2.Trace, content: TraceContent) -> None:
    """What is said in words, which lies with the content."""
    message.degradations.extend(degradation_to(item) for item in content.degradations)
    message.warnings.extend(content.warnings)
    message.labels.update(dict(content.asked.labels))
    message.prompt_sha256 = content.prompt_sha256
    message.otel_trace_id = content.asked.otel_trace_id
