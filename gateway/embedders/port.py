"""What an embedder is: a model that turns texts into vectors of one space."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking import VectorSpace


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """What must be known of a model. `space` has its id, its dimension and the scale of its scores; `languages` are
    those it was trained for (BCP 47); the prefixes are what the model wants before a text of either kind."""

    space: VectorSpace
    languages: tuple[str, ...]
    question_prefix: str = ""
    document_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What an embedder answers: the id of the space, and a float32 row of length 1 for each text."""

    space_id: str
    rows: NDArray[np.float32]


class Embedder(Protocol):
    """An embedder. What it answers is not trusted: `Embeddings` checks it."""

    @property
    def info(self) -> EmbedderInfo: ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of a few texts, prefixes included, off the event loop. Raises whatever its library does."""
        ...

    def close(self) -> None:
        """Let go of its threads; what is under way may still end."""
        ...
