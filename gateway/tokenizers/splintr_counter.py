"""Counts tokens with a splintr vocabulary: bounded in time and memory, and safe from its panics."""

from typing import Protocol

from gateway.tokenizers.cuts import PIECE_CHARACTERS, pieces
from gateway.tokenizers.errors import TextNotEncodableError, TextTooLargeError, TokenizerFailedError

MAX_CHARACTERS = 1024 * 1024
"""Longest text that is counted; the worst million characters measured took 1.5 s."""
FLUSH_CHARACTERS = 8 * 1024 * 1024
"""splintr's cache of pieces is bounded by number, not by size: it is emptied after so many characters."""
_BYTES_PER_TOKEN = 4


class Encoder(Protocol):
    """The part of splintr's tokenizer that is used."""

    def encode_flat(self, text: str) -> bytes:
        """Token ids as 32-bit integers in one bytes object; special-token literals become one token."""
        ...

    def encode_ordinary(self, text: str) -> list[int]:
        """Token ids, special-token literals being plain text."""
        ...

    def special_tokens(self) -> dict[str, int]:
        """The literals of the special tokens."""
        ...

    def clear_cache(self) -> None:
        """Forget the pieces met so far."""
        ...


class SplintrCounter:
    """A `TokenCounter` over one splintr vocabulary; safe to use from several threads."""

    def __init__(self, tokenizer_id: str, encoder: Encoder) -> None:
        self._id = tokenizer_id
        self._encoder = encoder
        self._markers = "".join(sorted({literal[0] for literal in encoder.special_tokens()}))
        self._uncleared = 0

    @property
    def id(self) -> str:
        """The vocabulary's name."""
        return self._id

    def count(self, text: str) -> int:
        """The ordinary count of `text`.

        Raises `TextTooLargeError` (more than a MiB of characters, or a run of more than 256 Ki without a
        place to cut), `TextNotEncodableError` (lone surrogate) and `TokenizerFailedError`.
        """
        if len(text) <= PIECE_CHARACTERS:
            return self._count_piece(text)
        if len(text) > MAX_CHARACTERS:
            raise TextTooLargeError(len(text), MAX_CHARACTERS)
        return sum(self._count_piece(piece) for piece in pieces(text))

    def _count_piece(self, text: str) -> int:
        try:
            return self._encode(text)
        except UnicodeEncodeError as error:
            raise TextNotEncodableError(error.start) from None
        except Exception as error:
            raise TokenizerFailedError(self._id) from error
        except BaseException as error:
            # A Rust panic is a BaseException, so that it passes every `except Exception` on its way up and
            # takes the server with it. An interrupt or a cancellation must pass.
            if type(error).__name__ != "PanicException":
                raise
            raise TokenizerFailedError(self._id) from error

    def _encode(self, text: str) -> int:
        self._uncleared += len(text)
        if self._uncleared > FLUSH_CHARACTERS:
            self._uncleared = 0
            self._encoder.clear_cache()
        # Without a literal's first character both encodings are the same, and the flat one is faster by half.
        for marker in self._markers:
            if marker in text:
                return len(self._encoder.encode_ordinary(text))
        return len(self._encoder.encode_flat(text)) // _BYTES_PER_TOKEN
