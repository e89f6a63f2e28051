"""Verdicts as figures: what a run must reach, and whether it does."""

from typing import Final

from benchmarks.faults.verdict import Rule, Verdict
from benchmarks.figures import Bar, Figure, Side

_SHARE: Final = Bar(Side.AT_LEAST, 99.9)
_NONE: Final = Bar(Side.AT_MOST, 0)
_CAUGHT: Final = Bar(Side.AT_LEAST, 1)


def fault_figures(name: str, verdict: Verdict, recovery: float) -> list[Figure]:
    """Of one fault of the matrix, which must be over after so many seconds."""
    return [
        Figure(f"{name}_calls", verdict.calls, "calls"),
        Figure(f"{name}_prescribed", verdict.share, "%", _SHARE),
        Figure(f"{name}_writes_prescribed", verdict.writes_share, "%", _SHARE),
        Figure(f"{name}_recovery", verdict.recovery, "s", Bar(Side.AT_MOST, recovery)),
        Figure(f"{name}_violations", verdict.findings.absolute, "answers", _NONE),
    ]


def uncounted_figures(name: str) -> list[Figure]:
    """Of a fault whose run does not count."""
    return [Figure(f"{name}_prescribed", 0.0, "%", _SHARE)]


def durability_figures(name: str, verdict: Verdict, acknowledged: int) -> list[Figure]:
    """Of a run that is about what is stored: lost, doubled, and everything else that allows no violation."""
    counts = verdict.findings.counts
    lost = counts[Rule.LOST] + counts[Rule.UNTRACED]
    return [
        Figure(f"{name}_acknowledged", acknowledged, "writes"),
        Figure(f"{name}_lost", lost, "writes", _NONE),
        Figure(f"{name}_doubled", counts[Rule.DOUBLED], "writes", _NONE),
        Figure(f"{name}_violations", verdict.findings.absolute, "answers", _NONE),
    ]


def kill_figures(name: str, count: int, verdict: Verdict, acknowledged: int) -> list[Figure]:
    """Of so many kills."""
    kills = Figure(f"{name}_count", count, "kills")
    return [kills, *durability_figures(name, verdict, acknowledged)]


def mutant_figure(name: str, *, caught: bool) -> Figure:
    """Whether the checker caught it."""
    return Figure(f"mutant_{name}_caught", int(caught), "", _CAUGHT)
