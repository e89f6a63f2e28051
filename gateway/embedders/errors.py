"""What can go wrong with an embedder. None of it fails a call: retrieval goes on by keywords."""


class EmbedderUnavailable(RuntimeError):
    """An embedder that was chosen cannot be had; the text names the remedy. Only at start."""


class EmbeddingError(Exception):
    """Base of what an embedding can end with."""


class EmbedderLate(EmbeddingError):
    """It did not answer within its time."""


class EmbedderFailed(EmbeddingError):
    """It gave up on a text."""


class EmbeddingMismatch(EmbeddingError):
    """It answered with something that is no vector of its space: another model's, of another dimension, not finite, or
    without a length."""
