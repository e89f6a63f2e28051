"""The archive as it was at a trace: ranks again what lay below the trace's cut-off."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from assemblers.assembly import SourceKind
from assemblers.policy.model import HistorySection
from assemblers.ranking import (
    Archive,
    Blend,
    IndexUnit,
    Question,
    RankParams,
    UnitScore,
    Vectors,
    analyze,
    build_archive,
    hybrid_score_of,
    score_of,
    unpack_question,
)
from assemblers.records import Excerpt, Reason, SectionKind
from assemblers.trace.candidates import find_block, numbers
from assemblers.trace.findings import Absence, Finding
from assemblers.trace.record import TraceContent, TraceRecord
from assemblers.trace.replay import Surroundings


class ArchiveThen:
    """A user's excerpts under the archive epoch of a trace, ranked by its query and its policy's weights.

    Where vectors had a say, those of today stand for those of then: the same excerpt has the same vector in the same
    space. Whether they do is tried on the trace's best candidate; where its score comes out another, an excerpt's place
    is not told.
    """

    def __init__(self, record: TraceRecord, content: TraceContent, given: Surroundings) -> None:
        self._record, self._given = record, given
        self._terms = content.query_terms
        self._query_vector = content.query_vector
        self._embedder = record.history.embedder if record.history else ""
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
    def _settings(self) -> HistorySection:
        return self._given.policy.policy.settings(HistorySection) or HistorySection()

    @cached_property
    def _params(self) -> RankParams:
        settings = self._settings
        return RankParams(
            near_permille=settings.near_permille,
            far_permille=settings.far_permille,
            session_permille=settings.session_permille,
        )

    @cached_property
    def _vectors(self) -> Vectors | None:
        """Of the archive of then; None where they are of another space today or are not there."""
        known = self._given.vectors
        if known is None or known.space.id != self._embedder or not self._query_vector:
            return None
        places = {number: place for place, number in enumerate(self._given.excerpts)}
        return known.taken(np.array([places[no] for no in self._archive.numbers.tolist()], np.intp))

    @cached_property
    def _is_known(self) -> bool:
        """Whether scores can be worked out again as they were."""
        block = find_block(self._record, SourceKind.EXCERPT)
        if not self._embedder or block is None or not len(block):
            return not self._embedder
        score = self.score(numbers(block)[0])
        return score is not None and score.score == int(block.scores["total"][0])

    def score(self, number: int) -> UnitScore | None:
        """Where an excerpt stood for the question, or None if it was not archived then. By keywords alone where the
        vectors of then are gone."""
        unit = self._archive.index_of(number)
        if unit is None:
            return None
        vectors = self._vectors
        if vectors is None:
            return score_of(self._archive, self._terms, self._params, unit)
        question = Question(self._terms, unpack_question(self._query_vector))
        blend = Blend(self._settings.keyword_permille, self._settings.vector_permille)
        return hybrid_score_of(self._archive, vectors, question, self._params, blend, unit)

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
        if not self._terms and not self._embedder:
            remedy = "The question has no term to search by: ask with a rarer word, a name or a number."
            return Absence(Finding.NOT_CONSIDERED, item_id, excerpt.text, Reason.EMPTY_QUERY, "", remedy)
        if self._embedder and not self._cutoff:
            return self._without_match(excerpt)  # the trace holds all that matched
        if not self._is_known:
            return self._somewhere_below(excerpt)
        score = self.score(excerpt.no)
        if score is None or not _matches(score):
            return self._without_match(excerpt)
        remedy = (
            f"It stood at place {score.rank} of {self._matched} with a score of {score.score / 1e6:.6f}, and"
            f" the trace holds those above {self._cutoff / 1e6:.6f}: a question with more of its words would"
            " have raised it."
        )
        legs = {"keyword": score.keyword, "neighbour": score.neighbour, "session": score.session}
        if score.cosine is not None:
            legs["cosine"] = score.cosine
        figures = {
            "rank": str(score.rank),
            "matched": str(self._matched),
            "score": f"{score.score / 1e6:.6f}",
            "cutoff": f"{self._cutoff / 1e6:.6f}",
            **{leg: f"{value / 1e6:.6f}" for leg, value in legs.items()},
        }
        return Absence(
            Finding.NOT_CONSIDERED, item_id, excerpt.text, Reason.BELOW_CUTOFF, "", remedy, figures
        )

    def _somewhere_below(self, excerpt: Excerpt) -> Absence:
        """It was ranked by vectors that are not those of today."""
        remedy = (
            f"It stood below the {self._cutoff / 1e6:.6f} of the last candidate that the trace holds. How far below"
            f" cannot be told: the archive has other vectors today than those of {self._embedder} then."
        )
        figures = {"matched": str(self._matched), "cutoff": f"{self._cutoff / 1e6:.6f}"}
        item_id, reason = f"excerpt/{excerpt.no}", Reason.BELOW_CUTOFF
        return Absence(Finding.NOT_CONSIDERED, item_id, excerpt.text, reason, "", remedy, figures)

    def _without_match(self, excerpt: Excerpt) -> Absence:
        """It scored nothing, in itself or by its neighbours and session."""
        own = ", ".join(list(dict.fromkeys(analyze(excerpt.text)))[:8])
        unlike = ", and its vector points away from the question's" if self._embedder else ""
        remedy = (
            f"Nothing that the question was searched by ({', '.join(self._terms)}) occurs in it or near it{unlike}:"
            f" ask with one of its words ({own})."
        )
        field = f"sections[{self._place()}].history.min_score_micros"
        figures = {"score": "0.000000", "matched": str(self._matched)}
        item_id, reason = f"excerpt/{excerpt.no}", Reason.BELOW_THRESHOLD
        return Absence(Finding.NOT_CONSIDERED, item_id, excerpt.text, reason, field, remedy, figures)

    def _place(self) -> int:
        sections = self._given.policy.policy.sections
        return next((i for i, section in enumerate(sections) if section.kind is SectionKind.HISTORY), 0)


def _matches(score: UnitScore) -> bool:
    """Whether an excerpt is ranked at all."""
    return score.keyword + score.neighbour + score.session > 0 or (score.cosine or 0) > 0
