"""Why something is in a prompt, why something is not, and whether a prompt comes out the same again."""

from collections.abc import Iterable

from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gateway.cli.show.palette import reason_name, section_style, section_text
from gateway.cli.show.visible import short_name, shortened, visible
from muniment.v1.trace_pb2 import (
    AbsenceExplanation,
    Candidate,
    DescentStep,
    ExplainAbsenceResponse,
    ExplainItemResponse,
    Outcome,
    ReplayTraceResponse,
)

_FINDINGS = {
    AbsenceExplanation.FINDING_PRESENT: "it is in the prompt after all",
    AbsenceExplanation.FINDING_EXCLUDED: "considered and left out",
    AbsenceExplanation.FINDING_NOT_CONSIDERED: "on record, and not considered",
    AbsenceExplanation.FINDING_RECORDED_LATER: "written only after this prompt",
    AbsenceExplanation.FINDING_NOT_ON_RECORD: "there is no such thing on record",
}
_SHOWN_RIVALS = 5


def instant(time: Timestamp) -> str:
    """`2026-03-31 09:00Z`."""
    return f"{time.ToDatetime():%Y-%m-%d %H:%M}Z"


def outcome_name(candidate: Candidate) -> str:
    """`included: within budget`."""
    outcome = Outcome.Name(candidate.outcome).removeprefix("OUTCOME_").lower()
    return f"{outcome}: {reason_name(candidate.reason)}"


def why_view(answer: ExplainItemResponse) -> RenderableType:
    """The item, its line of descent, and what it was preferred to."""
    candidate = answer.candidate
    parts: list[RenderableType] = [_title(candidate)]
    if answer.text:
        parts.append(
            Text(visible(answer.text.rstrip("\n"), keep_lines=True), section_style(candidate.section))
        )
    parts.append(_steps(answer.steps))
    if answer.won_over:
        parts.append(Text("preferred to", "bold"))
        parts += [
            Text(f"  {c.item_id}  {_scores(c)}{outcome_name(c)}") for c in answer.won_over[:_SHOWN_RIVALS]
        ]
    return Group(*parts)


def _title(candidate: Candidate) -> Text:
    title = Text.assemble((candidate.item_id, "bold"), "  ", section_text(candidate.section))
    title.append(f"  {_scores(candidate)}{outcome_name(candidate)}, {candidate.tokens} tokens")
    if candidate.policy_field:
        title.append(f" ({candidate.policy_field})", "dim")
    return title


def _scores(candidate: Candidate) -> str:
    return "".join(f"{score.name} {score.value:.3f}  " for score in candidate.scores[:1])


def _steps(steps: Iterable[DescentStep]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for step in steps:
        kind = DescentStep.Kind.Name(step.kind).removeprefix("KIND_").lower().replace("_", " ")
        text = Text(visible(step.description))
        if step.actor and step.actor not in step.description:
            text.append(f" · {visible(_short(step.actor))}", "dim")
        if step.reference and step.reference not in step.description:
            text.append(f"  → {visible(_short(step.reference))}", "dim")
        table.add_row(
            Text(instant(step.time) if step.HasField("time") else "", "dim"), Text(kind, "bold"), text
        )
    return table


def _short(reference: str) -> str:
    return short_name(reference) if reference.startswith(("tenants/", "policies/")) else reference


def why_not_view(answer: ExplainAbsenceResponse) -> RenderableType:
    """Each thing that was found, why it is absent, and what would have let it in."""
    if not answer.explanations:
        return Text("nothing of the kind was found")
    return Group(*(line for explanation in answer.explanations for line in _absence(explanation)))


def _absence(explanation: AbsenceExplanation) -> Iterable[RenderableType]:
    item = explanation.item_id or "(no item)"
    title = Text.assemble((item, "bold"), f"  {_FINDINGS.get(explanation.finding, 'unknown')}")
    if explanation.reason:
        title.append(f": {reason_name(explanation.reason)}")
    if explanation.policy_field:
        title.append(f" ({explanation.policy_field})", "dim")
    yield title
    if explanation.text:
        yield _indented(Text(shortened(explanation.text, 200), "dim"))
    if explanation.figures:
        yield _indented(Text(", ".join(f"{f.name} {visible(f.value)}" for f in explanation.figures), "dim"))
    if explanation.remedy:
        yield _indented(Text(f"→ {visible(explanation.remedy)}"))


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))


def replay_view(answer: ReplayTraceResponse) -> RenderableType:
    """Whether the prompt came out the same, with the digests and the releases."""
    word, style = ("identical", "bold green") if answer.identical else ("different", "bold red")
    meaning = "made again from the trace" + (", every byte is the same" if answer.identical else "")
    return Group(
        Text.assemble((word, style), f": {meaning}"),
        Text(f"recorded {answer.recorded_sha256}", "dim"),
        Text(f"replayed {answer.replayed_sha256}", "dim"),
        Text(f"by releases {answer.recorded_engine_version} and {answer.replayed_engine_version}", "dim"),
    )
