"""Keeps what the core prepares per user and epoch, so that a turn pays only for what changed since the last one."""

from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assemblers.policy.model import HistorySection, Policy, PolicyRevision
from assemblers.ranking import (
    Blend,
    Question,
    Ranking,
    RankParams,
    VectorSpace,
    pack_question,
    query_terms,
    rank,
    rank_hybrid,
)
from assemblers.records import Slots, UserRef
from assemblers.sections.archive import PreparedArchive, prepare_archive
from assemblers.sections.facts import PreparedFacts, prepare_facts
from assemblers.sections.history import HistoryInput
from assemblers.tokens import ModelTokens
from assemblers.trace.commitments import Commitments
from storage.lru import Lru
from storage.ports import ArchiveSnapshot, FactSnapshot

PREPARED_USERS = 2048
"""Users whose prepared facts and archives are kept; a prepared archive of 700 excerpts is about half a megabyte."""


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """A user's facts as one policy shows them, with their commitments by number."""

    epoch: int
    prepared: PreparedFacts
    commitments: Commitments


@dataclass(frozen=True, slots=True)
class ShownArchive:
    """A user's excerpts as lines, with their commitments by number; `end_no` is one past the highest."""

    epoch: int
    prepared: PreparedArchive
    commitments: Commitments
    end_no: int


class Preparations:
    """Prepared facts and archives of the users seen last. All answers equal those of preparing anew."""

    def __init__(self, users: int = PREPARED_USERS) -> None:
        self._facts: Lru[tuple[UserRef, str, str, str, int], ShownFacts] = Lru(users)
        self._archives: Lru[tuple[UserRef, str], ShownArchive] = Lru(users)

    def facts(
        self,
        user: UserRef,
        snapshot: FactSnapshot,
        policy: PolicyRevision,
        now: datetime,
        zone: tzinfo,
        tokens: ModelTokens,
    ) -> ShownFacts:
        """The user's facts as this policy shows them at `now`, with their commitments by number."""
        key = (user, policy.digest, str(zone), tokens.counter.id, tokens.factor_permille)
        found = self._facts.get(key)
        if found is None or found.epoch != snapshot.epoch or not found.prepared.covers(now):
            prepared = prepare_facts(policy, snapshot.facts, now, zone, tokens)
            found = ShownFacts(
                snapshot.epoch, prepared, Commitments({f.no: f.commitment for f in snapshot.facts})
            )
            self._facts.put(key, found)
        return found

    def archive(self, user: UserRef, snapshot: ArchiveSnapshot, tokens: ModelTokens) -> ShownArchive:
        """The user's excerpts as lines, with their commitments by number."""
        key = (user, tokens.counter.id)
        found = self._archives.get(key)
        if found is None or found.epoch != snapshot.epoch:
            excerpts = snapshot.excerpts
            found = ShownArchive(
                snapshot.epoch,
                prepare_archive(excerpts, tokens.counter),
                Commitments({e.no: e.commitment for e in excerpts}),
                max((e.no for e in excerpts), default=0) + 1,
            )
            self._archives.put(key, found)
        return found

    def history(
        self,
        user: UserRef,
        snapshot: ArchiveSnapshot,
        policy: Policy,
        question: str,
        slots: Slots,
        session_id: str,
        tokens: ModelTokens,
        vector: NDArray[np.float32] | None = None,
    ) -> tuple[HistoryInput, Commitments]:
        """The archive ranked for the question, by its vector too where there is one. Only for a policy with a HISTORY
        section."""
        archive = self.archive(user, snapshot, tokens)
        settings = policy.settings(HistorySection) or HistorySection()
        terms = tuple(query_terms(search_text(question, slots, settings)))
        ranking = ranked(snapshot, terms, vector, rank_params(settings), settings)
        packed = b"" if vector is None or ranking.fusion is None else pack_question(vector)
        history = HistoryInput(
            archive.prepared, ranking, terms, snapshot.epoch, archive.end_no, session_id, packed
        )
        return history, archive.commitments


def ranked(
    snapshot: ArchiveSnapshot,
    terms: tuple[str, ...],
    vector: NDArray[np.float32] | None,
    params: RankParams,
    settings: HistorySection,
) -> Ranking:
    """The archive ranked by the terms, and by the vector where there is one and the archive has any to compare."""
    vectors = snapshot.vectors
    if vector is None or vectors is None or not vectors.count:
        return rank(snapshot.archive, terms, params)
    blend = blend_of(settings, vectors.space)
    return rank_hybrid(snapshot.archive, vectors, Question(terms, vector), params, blend)


def blend_of(settings: HistorySection, space: VectorSpace) -> Blend:
    """The policy's weights of the two scores, and its threshold or that of the space."""
    least = settings.min_similarity_permille
    floor = space.floor_permille if least is None else least
    return Blend(settings.keyword_permille, settings.vector_permille, floor)


def rank_params(settings: HistorySection) -> RankParams:
    """The policy's weights."""
    return _params(settings.near_permille, settings.far_permille, settings.session_permille)


@lru_cache(maxsize=256)
def _params(near_permille: int, far_permille: int, session_permille: int) -> RankParams:
    return RankParams(
        near_permille=near_permille, far_permille=far_permille, session_permille=session_permille
    )


def search_text(question: str, slots: Slots, settings: HistorySection) -> str:
    """What is searched for: the question, and the focus that it may lean on."""
    if settings.focus_terms and slots.focus is not None and slots.focus.label:
        return f"{question}\n{slots.focus.label}"
    return question
