"""Candidates as bytes: one little-endian column after the other, copied whole without a loop over rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from assemblers.assembly import OUTCOMES, REASONS, CandidateBlock, SourceKind
from assemblers.records import SectionKind
from assemblers.trace.errors import MalformedTrace
from assemblers.trace.wire import Node, quoted, quoted_list

_Scalar = TypeVar("_Scalar", np.uint8, np.int32, np.int64)
Column = npt.NDArray[np.uint8] | npt.NDArray[np.int32] | npt.NDArray[np.int64]

_U1: Final[np.dtype[np.uint8]] = np.dtype("u1")
_I4: Final[np.dtype[np.int32]] = np.dtype("<i4")
_I8: Final[np.dtype[np.int64]] = np.dtype("<i8")

_LITTLE_ENDIAN: Final = _I4.isnative

# The codes of outcomes and reasons are places in these tables, so both may only ever grow at the end.
_LAST_OUTCOME: Final = len(OUTCOMES) - 1
_LAST_REASON: Final = len(REASONS) - 1


def pack(block: CandidateBlock, columns: list[Column]) -> str:
    """Append the block's columns to `columns` and give its line of the header, without textual refs."""
    refs, scores = block.refs, block.scores
    rows, names = len(refs), sorted(scores)
    columns += block.outcomes, block.reasons, block.fields, block.tokens, block.offsets, block.lengths
    numbered = 0
    if not isinstance(refs, tuple):
        columns.append(refs)
        numbered = 1
    for name in names:
        columns.append(scores[name])
    return (
        f"[{quoted(block.section)},{quoted(block.source_kind)},{quoted(block.item_prefix)},{rows},{numbered},"
        f"{_quoted(block.policy_fields)},{block.message},{block.part},{_quoted(tuple(names))}]"
    )


@lru_cache(maxsize=1024)
def _quoted(texts: tuple[str, ...]) -> str:
    """Paths of a policy and names of scores: few, and the same from call to call."""
    return quoted_list(texts)


def join(head: list[bytes], columns: list[Column], blocks: tuple[CandidateBlock, ...]) -> bytes:
    """The head and the columns in one run. Raises `ValueError` where a column is not as long or not of the
    type that its block says, since it would be read back as nonsense."""
    if not _LITTLE_ENDIAN:
        columns = [_swapped(column) for column in columns]
    # Not the arrays themselves: `join` takes no strided ones, and small blocks share one array for all
    # columns.
    data = b"".join([*head, *[column.tobytes() for column in columns]])
    expected = sum([len(block.refs) * _row_bytes(block) for block in blocks])
    if len(data) != expected + sum(map(len, head)):
        raise ValueError("a column of a candidate block has another length or type than its block says")
    return data


def _swapped(column: Column) -> Column:
    return column.byteswap()


def _row_bytes(block: CandidateBlock) -> int:
    return 3 * 1 + 3 * 4 + (0 if isinstance(block.refs, tuple) else 4) + 8 * len(block.scores)


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
        scores = {name: self._take(rows, _I8).astype(np.int64, copy=False) for name in line[8].texts()}
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
