"""Embedders: what turns texts into vectors, so that history is found by meaning too."""

from gateway.embedders.embeddings import Embeddings
from gateway.embedders.errors import (
    EmbedderFailed,
    EmbedderLate,
    EmbedderUnavailable,
    EmbeddingError,
    EmbeddingMismatch,
)
from gateway.embedders.minilm import open_minilm
from gateway.embedders.port import Embedded, Embedder, EmbedderInfo

__all__ = [
    "Embedded",
    "Embedder",
    "EmbedderFailed",
    "EmbedderInfo",
    "EmbedderLate",
    "EmbedderUnavailable",
    "EmbeddingError",
    "EmbeddingMismatch",
    "Embeddings",
    "open_embeddings",
    "open_minilm",
]


def open_embeddings(name: str) -> Embeddings | None:
    """The embeddings of a setting: None for `none`. Raises `EmbedderUnavailable`, which names what to install."""
    if name == "none":
        return None
    if name == "minilm":
        return Embeddings(open_minilm())
    raise EmbedderUnavailable(f"embedder: {name!r} is not known; use none or minilm")
