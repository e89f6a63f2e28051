"""The archive as it was at a trace: ranks again what lay below the trace's cut-off."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from assemblers.policy.model import HistorySection
from assemblers.ranking import Archive, IndexUnit, RankParams, UnitScore, analyze, build_archive, score_of
from assemblers.records import Excerpt, Reason, SectionKind
from assemblers.trace.findings import Absence, Finding
from assemblers.trace.record import TraceContent, TraceRecord
from assemblers.trace.replay import Surroundings


class ArchiveThen:
    """A user's excerpts under the archive epoch of a trace, ranked by its query terms and its policy's
    weights."""

    def __init__(self, record: TraceRecord, content: TraceContent, given: Surroundings) -> None:
        self._terms = content.query_terms
        self._given = given
        self._end_no = record.history.archive_end_no if record.history else 0
        self._matched = record.history.matched if record.history else 0
        self._cutoff = record.history.cutoff_micros if record.history else 0

    @cached_property
    def _archive(self) -> Archive:
        """Built when first asked for: most explanations need none."""
        excerpts = [e for e in self._given.excerpts.values() if e.no < self._end_no]
        sessions = sorted({(e.session_time, e.session_no) for e in excerpts})
        ordinals = {number: ordinal for ordinal, (_, number) in enumerate(sessions)}
        return build_archive([IndexUnit(e.no, ordinals[e.session_no], e.position, e.terms) for e in excerpts])

    @cached_property
    def _params(self) -> RankParams:
        settings = self._given.policy.policy.settings(HistorySection) or HistorySection()
        return RankParams(
            near_permille=settings.near_permille,
            far_permille=settings.far_permille,
            session_permille=settings.session_permille,
        )

    def score(self, number: int) -> UnitScore | None:
        """Where an excerpt stood for the question, or None if it was not archived then."""
        unit = self._archive.index_of(number)
        return None if unit is None else score_of(self._archive, self._terms, self._params, unit)

    def best(self, numbers: Iterable[int], most: int) -> list[int]:
        """At most so many of the excerpts, those that stood best for the question first, later ones last."""
        ranked = []
        for number in numbers:
            score = self.score(number)
            ranked.append((score.rank if score else self._end_no + number, number))
        return [number for _, number in sorted(ranked)[:most]]

    def below_the_cutoff(self, excerpt: Excerpt) -> Absence:
        """Why an excerpt that was archived then is not among the candidates."""
        item_id = f"excerpt/{excerpt.no}"
        if not self._terms:
            remedy = "The question has no term to search by: ask with a rarer word, a name or a number."
            return Absence(Finding.NOT_CONSIDERED, item_id, excerpt.text, Reason.EMPTY_QUERY, "", remedy)
        score = self.score(excerpt.no)
        if score is None or score.score == 0:
            return self._without_match(excerpt)
        remedy = (
            f"It stood at place {score.rank} of {self._matched} with a score of {score.score / 1e6:.6f}, and"
            f" the trace holds those above {self._cutoff / 1e6:.6f}: a question with more of its words would"
            " have raised it."
        )
        figures = {
            "rank": str(score.rank),
            "matched": str(self._matched),
            "score": f"{score.score / 1e6:.6f}",
            "cutoff": f"{self._cutoff / 1e6:.6f}",
            "keyword": f"{score.keyword / 1e6:.6f}",
            "neighbour": f"{score.neighbour / 1e6:.6f}",
            "session": f"{score.session / 1e6:.6f}",
        }
        return Absence(
            Finding.NOT_CONSIDERED, item_id, excerpt.text, Reason.BELOW_CUTOFF, "", remedy, figures
        )

    def _without_match(self, excerpt: Excerpt) -> Absence:
        """It scored nothing, in itself or by its neighbours and session."""
        own = ", ".join(list(dict.fromkeys(analyze(excerpt.text)))[:8])
        remedy = (
            f"Nothing that the question was searched by ({', '.join(self._terms)}) occurs in it or near it:"
            f" ask with one of its words ({own})."
        )
        field = f"sections[{self._place()}].history.min_score_micros"
        figures = {"score": "0.000000", "matched": str(self._matched)}
        item_id, reason = f"excerpt/{excerpt.no}", Reason.BELOW_THRESHOLD
        return Absence(Finding.NOT_CONSIDERED, item_id, excerpt.text, reason, field, remedy, figures)

    def _place(self) -> int:
        sections = self._given.policy.policy.sections
        return next((i for i, section in enumerate(sections) if section.kind is SectionKind.HISTORY), 0)
