"""Candidates as bytes: one little-endian column after the other, copied whole without a loop over rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from assemblers.assembly import OUTCOMES, REASONS, CandidateBlock, SourceKind
from assemblers.records import SectionKind
from assemblers.trace.errors import MalformedTrace
from assemblers.trace.wire import Node, quoted, quoted_list

_Scalar = TypeVar("_Scalar", bound=np.integer)

_U1: Final[np.dtype[np.uint8]] = np.dtype("u1")
_I4: Final[np.dtype[np.int32]] = np.dtype("<i4")
_U4: Final[np.dtype[np.uint32]] = np.dtype("<u4")
_I8: Final[np.dtype[np.int64]] = np.dtype("<i8")

_SIGNED: Final = -4
"""Stands in the header for scores of four bytes of which some are negative."""

_SCORE_TYPES: Final[Mapping[int, np.dtype[np.int32] | np.dtype[np.uint32] | np.dtype[np.int64]]] = {
    4: _U4,
    _SIGNED: _I4,
    8: _I8,
}

_LITTLE_ENDIAN: Final = _I4.isnative

_PLAIN_ROW_BYTES: Final = 3 * 1 + 3 * 4
"""Three codes and three figures; what more a row has depends on its block."""

# The codes of outcomes and reasons are places in these tables, so both may only ever grow at the end.
_LAST_OUTCOME: Final = len(OUTCOMES) - 1
_LAST_REASON: Final = len(REASONS) - 1


class ColumnWriter:
    """Collects the columns of blocks, and writes them in one run."""

    __slots__ = ("_columns", "_expected")

    def __init__(self) -> None:
        self._columns: list[bytes] = []
        self._expected = 0

    def pack(self, block: CandidateBlock) -> str:
        """Take the block's columns and give its line of the header, without textual refs."""
        refs, scores = block.refs, block.scores
        rows, names = len(refs), tuple(sorted(scores))
        # Not the arrays themselves: joining bytes takes no strided ones, and small blocks share one array for all
        # columns.
        self._columns += (
            block.outcomes.tobytes(), block.reasons.tobytes(), block.fields.tobytes(), _bytes(block.tokens),
            _bytes(block.offsets), _bytes(block.lengths),
        )  # fmt: skip
        numbered = score_bytes = 0
        if not isinstance(refs, tuple):
            self._columns.append(_bytes(refs))
            numbered = 1
        if names:
            legs, score_bytes = _legs([scores[name] for name in names])
            self._columns.append(legs)
        self._expected += rows * (_PLAIN_ROW_BYTES + 4 * numbered + abs(score_bytes) * len(names))
        return (
            f"[{quoted(block.section)},{quoted(block.source_kind)},{quoted(block.item_prefix)},{rows},{numbered},"
            f"{_quoted(block.policy_fields)},{block.message},{block.part},{_quoted(names)},{score_bytes}]"
        )

    def join(self, head: bytes) -> bytes:
        """The head and the columns in one run. Raises `ValueError` where a column is not as long or not of the
        type that its block says, since it would be read back as nonsense."""
        data = b"".join([head, *self._columns])
        if len(data) != self._expected + len(head):
            raise ValueError("a column of a candidate block has another length or type than its block says")
        return data


def _bytes(column: npt.NDArray[_Scalar]) -> bytes:
    return column.tobytes() if _LITTLE_ENDIAN else column.byteswap().tobytes()


def _legs(legs: list[npt.NDArray[np.int64]]) -> tuple[bytes, int]:
    """The scores of all legs, one leg after the other, and the bytes of each: 4 where all fit, which they do
    under any weights but extreme ones, and `_SIGNED` where some are negative."""
    whole = np.concatenate(legs)
    halves = whole.view(np.uint32)
    low, high = (halves[::2], halves[1::2]) if _LITTLE_ENDIAN else (halves[1::2], halves[::2])
    # Bytes are compared in a third of the time that numpy takes to look for one that is not zero.
    if high.tobytes() == bytes(high.nbytes):
        return _bytes(low), 4
    signed = whole.astype(np.int32)
    return (_bytes(signed), _SIGNED) if np.array_equal(signed, whole) else (_bytes(whole), 8)


@lru_cache(maxsize=1024)
def _quoted(texts: tuple[str, ...]) -> str:
    """Paths of a policy and names of scores: few, and the same from call to call."""
    return quoted_list(texts)


class ColumnReader:
    """Takes columns off the front of a run of bytes. The arrays are views and cannot be written to."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def unpack(self, line: Node) -> CandidateBlock:
        """The block that a line of the header describes."""
        rows, policy_fields = line[3].integer(), line[5].texts()
        outcomes, reasons, fields = (self._codes(line, rows) for _ in range(3))
        tokens, offsets, lengths = (self._take(rows, _I4).astype(np.int32, copy=False) for _ in range(3))
        refs: tuple[str, ...] | npt.NDArray[np.int32] = ("",) * rows
        if line[4].integer():
            refs = self._take(rows, _I4).astype(np.int32, copy=False)
        score_type = _SCORE_TYPES.get(line[9].integer(), _U4)
        scores = {name: self._take(rows, score_type).astype(np.int64, copy=False) for name in line[8].texts()}
        _check_codes(outcomes, _LAST_OUTCOME, "outcome", line)
        _check_codes(reasons, _LAST_REASON, "reason", line)
        _check_codes(fields, len(policy_fields) - 1, "policy field", line)
        return CandidateBlock(
            line[0].member(SectionKind), line[1].member(SourceKind), line[2].text(), refs, outcomes, reasons,
            fields, policy_fields, tokens, offsets, lengths, line[6].integer(), line[7].integer(), scores,
        )  # fmt: skip

    def finish(self) -> None:
        """Raise `MalformedTrace` if bytes are left over."""
        if self._at != len(self._data):
            raise MalformedTrace("there are bytes after the last column")

    def _codes(self, line: Node, rows: int) -> npt.NDArray[np.uint8]:
        if rows < 0:
            raise MalformedTrace(f"{line.path} has a negative number of rows")
        return np.frombuffer(self._slice(rows), np.uint8)

    def _take(self, rows: int, dtype: np.dtype[_Scalar]) -> npt.NDArray[_Scalar]:
        return np.frombuffer(self._slice(rows * dtype.itemsize), dtype)

    def _slice(self, size: int) -> memoryview:
        if size > len(self._data) - self._at:
            raise MalformedTrace("the columns end too early")
        self._at += size
        return self._data[self._at - size : self._at]


def _check_codes(codes: npt.NDArray[np.uint8], last: int, what: str, line: Node) -> None:
    if codes.size and int(codes.max()) > last:
        raise MalformedTrace(f"{line.path} has an unknown {what}")
