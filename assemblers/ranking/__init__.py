"""Keyword retrieval of a user's history: text to terms, terms to arrays, a question to a ranking."""

from assemblers.ranking.analysis import INDEX_FORMAT, MAX_QUERY_TERMS, analyze, query_terms
from assemblers.ranking.archive import Archive, IndexUnit, build_archive
from assemblers.ranking.bm25 import Legs, Ranking, RankParams, UnitScore, rank, score_of
from assemblers.ranking.postings import SCORE_SCALE, Saturation

__all__ = [
    "INDEX_FORMAT",
    "MAX_QUERY_TERMS",
    "SCORE_SCALE",
    "Archive",
    "IndexUnit",
    "Legs",
    "RankParams",
    "Ranking",
    "Saturation",
    "UnitScore",
    "analyze",
    "build_archive",
    "query_terms",
    "rank",
    "score_of",
]
