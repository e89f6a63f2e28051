"""The budget: what each section was allowed, what it took, what was left out and why."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gateway.cli.show.palette import reason_name, section_text, status_name
from gateway.cli.show.visible import visible
from muniment.v1.prompt_pb2 import Breakpoint, BudgetReport, Reason, SectionReport
from muniment.v1.trace_pb2 import Candidate, Outcome
from muniment.v1.types_pb2 import Exactness

_FIGURES = ("floor", "ceiling", "used", "in", "out")


def budget_view(report: BudgetReport, candidates: Sequence[Candidate] = ()) -> RenderableType:
    """The table of the sections, and the total under it; candidates tell why items were left out."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("section")
    for name in _FIGURES:
        table.add_column(name, justify="right")
    table.add_column("why", overflow="fold", ratio=1)
    for section in report.sections:
        figures = (section.floor, section.ceiling, section.used, section.included, section.dropped)
        table.add_row(section_text(section.section), *map(str, figures), _why(section, candidates))
    return Group(table, _total(report))


def _why(section: SectionReport, candidates: Sequence[Candidate]) -> str:
    causes = _causes(c for c in candidates if c.section == section.section)
    # What was cut says more than that something was.
    words = [*causes] or [status_name(section.status)]
    return "; ".join([*words, *filter(None, [visible(section.note)])])


def _causes(candidates: Iterable[Candidate]) -> list[str]:
    """`4 over ceiling (sections[2].budget.ceiling_tokens)`, the most frequent first."""
    counts: Counter[tuple[Reason.ValueType, str]] = Counter(
        (c.reason, c.policy_field) for c in candidates if c.outcome == Outcome.OUTCOME_EXCLUDED
    )
    return [
        f"{count} {reason_name(reason)}{f' ({field})' if field else ''}"
        for (reason, field), count in counts.most_common()
    ]


def _total(report: BudgetReport) -> Text:
    items = sum(section.used for section in report.sections)
    exactness = Exactness.Name(report.exactness).removeprefix("EXACTNESS_").replace("_", " ").lower()
    factor = f" × {report.factor_permille / 1000:g}" if report.factor_permille not in (0, 1000) else ""
    text = Text.assemble((f"{report.used}", "bold"), f" of {report.limit} tokens used")
    text.append(f" · {exactness}, counted with {report.tokenizer}{factor}", "dim")
    text.append(f" · {items} in items, {report.used - items} in headings, labels and frame", "dim")
    return text


def breakpoints_view(breakpoints: Iterable[Breakpoint], prefix_sha256: str) -> RenderableType:
    """Where a provider may cache, and the prefix that callers share."""
    lines = [
        Text.assemble(
            "after ",
            section_text(point.section),
            f" (message {point.after_message}, part {point.after_part}), keep for {point.ttl_class}",
        )
        for point in breakpoints
    ]
    if prefix_sha256:
        lines.append(Text(f"prefix {prefix_sha256[:16]}…, the same for every user of the tenant", "dim"))
    return Group(*lines)
