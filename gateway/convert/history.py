"""history.proto: past sessions in, excerpts and scores out."""

from assemblers.records import Excerpt, UserRef
from gateway.convert.enums import ROLE_TO
from gateway.convert.instants import instant_of, instant_to
from gateway.convert.prompt import degradation_to
from gateway.convert.types import turn_of
from gateway.names import excerpt_name
from gateway.usecases.archiving import PastSession
from gateway.usecases.history import ImportReport, Match, Search, SearchResult
from muniment.v1 import history_pb2, trace_pb2

MICROS = 1_000_000


def past_session_of(message: history_pb2.PastSession, field: str) -> PastSession:
    """The session; its turns without a time take its own. Raises InvalidArgument below `field`."""
    start = instant_of(message.start_time)
    turns = tuple(turn_of(turn, start, f"{field}.turns[{i}]") for i, turn in enumerate(message.turns))
    return PastSession(message.session_id, start, turns)


def report_to(report: ImportReport) -> history_pb2.ImportHistoryResponse:
    """What was archived."""
    return history_pb2.ImportHistoryResponse(
        session_count=report.sessions,
        turn_count=report.turns,
        skipped_turn_count=report.skipped_turns,
        excerpt_count=report.excerpts,
        duplicate_count=report.duplicates,
    )


def search_of(request: history_pb2.SearchHistoryRequest) -> Search:
    """What to search for."""
    return Search(request.query, request.policy, request.exclude_session_id, request.max_results)


def result_to(result: SearchResult, user: UserRef) -> history_pb2.SearchHistoryResponse:
    """What was found."""
    return history_pb2.SearchHistoryResponse(
        matches=[_match_to(match, user) for match in result.matches],
        matched_count=result.matched,
        query_terms=result.terms,
        embedder=result.embedder,
        degradations=[] if result.degradation is None else [degradation_to(result.degradation)],
    )


def excerpt_to(excerpt: Excerpt, user: UserRef) -> history_pb2.Excerpt:
    """The message of an excerpt."""
    return history_pb2.Excerpt(
        name=excerpt_name(user, excerpt.no),
        session_id=excerpt.session_id,
        session_time=instant_to(excerpt.session_time),
        turn_id=excerpt.turn_id,
        role=ROLE_TO[excerpt.role],
        speaker=excerpt.speaker,
        text=excerpt.text,
        occur_time=instant_to(excerpt.occur_time),
    )


def _match_to(match: Match, user: UserRef) -> history_pb2.ExcerptMatch:
    scores = {
        "total": match.total,
        "keyword": match.keyword,
        "neighbour": match.neighbour,
        "session": match.session,
    }
    if match.cosine is not None:
        scores["cosine"] = match.cosine
    return history_pb2.ExcerptMatch(
        excerpt=excerpt_to(match.excerpt, user),
        scores=[trace_pb2.Score(name=name, value=micros / MICROS) for name, micros in scores.items()],
    )
