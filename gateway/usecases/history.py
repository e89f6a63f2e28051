"""The use cases of HistoryService: import past sessions, search a user's archive."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from assemblers.policy.model import HistorySection, Policy
from assemblers.ranking import Ranking, query_terms
from assemblers.records import Degradation, Excerpt, Role, UserRef
from assemblers.sections.history import below_threshold
from gateway.deadline import Deadline
from gateway.errors import InvalidArgument
from gateway.usecases.admission import CLOCK_SKEW
from gateway.usecases.archiving import CutSession, PastSession, cut_sessions, known_sessions
from gateway.usecases.fitting import count_fitting
from gateway.usecases.freshness import Freshness
from gateway.usecases.prepared import rank_params, ranked
from gateway.usecases.receipts import through
from gateway.usecases.resolution import PolicyCatalog
from gateway.usecases.turn_rules import check_contents, has_visible
from gateway.usecases.vector_search import Asked, VectorSearch
from storage.ports import ArchiveSnapshot, ArchiveStore, ArchiveWritten, Epochs, Receipt

DEFAULT_RESULTS = 20
SEARCHING_POLICY = "policies/memory"
"""Whose weights apply where the tenant's default policy has no HISTORY section."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was archived. `skipped_turns` are those that the policy keeps out."""

    sessions: int
    turns: int
    skipped_turns: int
    excerpts: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class Search:
    """What to search for. `policy` is a reference or "", `exclude_session_id` "" for none, `max_results` 0 for 20."""

    query: str
    policy: str = ""
    exclude_session_id: str = ""
    max_results: int = 0


@dataclass(frozen=True, slots=True)
class Match:
    """An excerpt that was found; scores in millionths. Keyword, neighbour and session add up to the keyword score,
    which is the total where no vectors were searched (`cosine` None)."""

    excerpt: Excerpt
    total: int
    keyword: int
    neighbour: int
    session: int
    cosine: int | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best matches first, how many excerpts scored at all, and the terms that were searched by; the id of the
    embedder whose vectors were searched too ("" for none), and what the search had to do without."""

    matches: tuple[Match, ...]
    matched: int
    terms: tuple[str, ...]
    embedder: str = ""
    degradation: Degradation | None = None


class History:
    """A user's archive over a store, under the tenant's policies."""

    def __init__(
        self,
        store: ArchiveStore,
        policies: PolicyCatalog,
        freshness: Freshness,
        vectors: VectorSearch | None = None,
    ) -> None:
        self._store, self._policies, self._freshness = store, policies, freshness
        self._vectors = vectors or VectorSearch()

    async def import_sessions(
        self,
        user: UserRef,
        sessions: Sequence[PastSession],
        policy: str,
        now: datetime,
        receipt: Receipt[ImportReport],
    ) -> ImportReport:
        """Archive the sessions in one step. What is there already is counted and left as it is."""
        cut = await self._cut(user, sessions, policy, now)
        kept: Receipt[ArchiveWritten] = through(receipt, lambda written: _report(sessions, cut, written))
        archived = [session.archived for session in cut]
        written = await self._store.append(user, archived, now, kept)
        await self._vectors.archived(user, written.added)
        return _report(sessions, cut, written)

    async def validate_import(
        self, user: UserRef, sessions: Sequence[PastSession], policy: str, now: datetime
    ) -> ImportReport:
        """What would be archived; nothing is written."""
        cut = await self._cut(user, sessions, policy, now)
        new = sum(len(session.archived.excerpts) for session in cut)
        return _report(sessions, cut, ArchiveWritten(new, 0, 0, 0))

    async def search(
        self, user: UserRef, search: Search, deadline: Deadline, seen: Epochs | None = None
    ) -> SearchResult:
        """The best excerpts for a question, as an assembly would rank them.

        Raises FailedPrecondition where the store is behind `seen`.
        """
        if not has_visible(search.query):
            raise InvalidArgument.of("query", "is blank: send the words to search for")
        policy, settings = await self._searching(user.tenant_id, search.policy)
        snapshot = await self._freshness.certain_archive(user, seen)
        self._vectors.notice(user, snapshot)
        asked = await self._vectors.ask(settings, snapshot, search.query, deadline.remaining())
        return _search(snapshot, search, policy, settings, asked)

    async def _cut(
        self, user: UserRef, sessions: Sequence[PastSession], policy: str, now: datetime
    ) -> list[CutSession]:
        check_sessions(sessions, now)
        rules = (await self._policies.resolve(user.tenant_id, policy)).policy.archive
        snapshot = await self._freshness.certain_archive(user)
        known = known_sessions(snapshot, {session.session_id for session in sessions})
        return await cut_sessions(sessions, rules, known)

    async def _searching(self, tenant_id: str, reference: str) -> tuple[Policy, HistorySection]:
        policy = (await self._policies.resolve(tenant_id, reference)).policy
        settings = policy.settings(HistorySection)
        if settings is None and reference:
            raise InvalidArgument.of(
                "policy", f"has no history section: name one that has, such as {SEARCHING_POLICY}"
            )
        if settings is None:
            policy = (await self._policies.resolve(tenant_id, SEARCHING_POLICY)).policy
            settings = policy.settings(HistorySection)
        return policy, settings or HistorySection()


def check_sessions(sessions: Sequence[PastSession], now: datetime) -> None:
    """Raises InvalidArgument for ids that occur twice, for the future, and for contents that do not fit a role."""
    _check_ids([session.session_id for session in sessions], "sessions[{}].session_id")
    for place, session in enumerate(sessions):
        path = f"sessions[{place}]"
        if session.start_time > now + CLOCK_SKEW:
            raise InvalidArgument.of(f"{path}.start_time", "lies in the future: give when the session began")
        _check_ids([turn.turn_id for turn in session.turns], path + ".turns[{}].turn_id")
        for index, turn in enumerate(session.turns):
            if turn.occur_time > now + CLOCK_SKEW:
                raise InvalidArgument.of(
                    f"{path}.turns[{index}].occur_time", "lies in the future: give when it was said"
                )
            check_contents(turn, f"{path}.turns[{index}]")


def _check_ids(ids: Sequence[str], field: str) -> None:
    seen: set[str] = set()
    for index, value in enumerate(ids):
        if value in seen:
            raise InvalidArgument.of(field.format(index), f"{value!r} occurs twice: send each once")
        seen.add(value)


def _report(
    sessions: Sequence[PastSession], cut: Sequence[CutSession], written: ArchiveWritten
) -> ImportReport:
    return ImportReport(
        sessions=len(sessions),
        turns=sum(len(session.turns) for session in sessions),
        skipped_turns=sum(session.skipped for session in cut),
        excerpts=written.added,
        duplicates=written.duplicates + sum(session.known for session in cut),
    )


def _search(
    snapshot: ArchiveSnapshot, search: Search, policy: Policy, settings: HistorySection, asked: Asked
) -> SearchResult:
    terms = tuple(query_terms(search.query))
    hidden = _hidden(snapshot.excerpts, search.exclude_session_id, policy)
    wanted = search.max_results or DEFAULT_RESULTS
    # As many more as may have to be left out, so that the rest is complete.
    params = replace(rank_params(settings), limit=wanted + len(hidden))
    ranking = ranked(snapshot, terms, asked.vector, params, settings)
    low = set(below_threshold(ranking, settings))
    matches = enumerate(_matches(ranking, snapshot.excerpts))
    good = [match for row, match in matches if row not in low and match.excerpt.no not in hidden]
    count = count_fitting(len(match.excerpt.text.encode()) for match in good[:wanted])
    embedder = "" if ranking.fusion is None else ranking.fusion.space
    return SearchResult(tuple(good[:count]), ranking.matched, terms, embedder, asked.degradation)


def _hidden(excerpts: Sequence[Excerpt], session_id: str, policy: Policy) -> frozenset[int]:
    """The numbers of what must not be found: one session, and the assistant's words unless the policy wants them."""
    assistant_too = policy.archive.include_assistant
    return frozenset(
        excerpt.no
        for excerpt in excerpts
        if (session_id and excerpt.session_id == session_id)
        or (excerpt.role is Role.ASSISTANT and not assistant_too)
    )


def _matches(ranking: Ranking, excerpts: Sequence[Excerpt]) -> list[Match]:
    legs, fusion = ranking.legs, ranking.fusion
    columns = (ranking.units, ranking.scores, legs.keyword, legs.neighbour, legs.session)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    matches = [Match(excerpts[unit], *scores) for unit, *scores in rows]
    if fusion is None:
        return matches
    return [replace(m, cosine=cosine) for m, cosine in zip(matches, fusion.cosines.tolist(), strict=True)]
