"""Retrieval of a user's history: text to terms and vectors to arrays, a question to a ranking."""

from assemblers.ranking.analysis import INDEX_FORMAT, MAX_QUERY_TERMS, analyze, query_terms
from assemblers.ranking.archive import Archive, IndexUnit, build_archive
from assemblers.ranking.bm25 import Fusion, Legs, Ranking, RankParams, UnitScore, rank, score_of
from assemblers.ranking.hybrid import Blend, Question, hybrid_score_of, rank_hybrid
from assemblers.ranking.postings import SCORE_SCALE, Saturation
from assemblers.ranking.vectors import (
    MalformedVectorError,
    Vectors,
    VectorSpace,
    build_vectors,
    check_vector,
    fixed_point,
    pack_question,
    unpack_question,
)

__all__ = [
    "INDEX_FORMAT",
    "MAX_QUERY_TERMS",
    "SCORE_SCALE",
    "Archive",
    "Blend",
    "Fusion",
    "IndexUnit",
    "Legs",
    "MalformedVectorError",
    "Question",
    "RankParams",
    "Ranking",
    "Saturation",
    "UnitScore",
    "VectorSpace",
    "Vectors",
    "analyze",
    "build_archive",
    "build_vectors",
    "check_vector",
    "fixed_point",
    "hybrid_score_of",
    "pack_question",
    "query_terms",
    "rank",
    "rank_hybrid",
    "score_of",
    "unpack_question",
]
