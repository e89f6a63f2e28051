"""The record's bytes, which the ledger hashes: canonical, versioned, and quick to make.

Layout: `MTR` and the format as one byte; the length of the header as 4 bytes, little-endian; the header, JSON
with its keys in order; the columns (`assemblers.trace.columns`), whose lengths follow from the header.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from assemblers.assembly import BudgetReport, HistorySummary, PromptFormat, SectionReport
from assemblers.records import SectionKind, SectionStatus
from assemblers.tokens import Exactness, Frame
from assemblers.trace.columns import ColumnReader, ColumnWriter
from assemblers.trace.errors import MalformedTrace
from assemblers.trace.record import (
    RECORD_FORMAT,
    CodedDegradation,
    Counting,
    Seals,
    Timing,
    TraceRecord,
    Versions,
)
from assemblers.trace.wire import Node, micros, quoted_list, read_json
from assemblers.trace.wire import quoted as q

_MAGIC: Final = b"MTR" + bytes([RECORD_FORMAT])
_SIZE: Final = struct.Struct("<I").pack
_DIGEST_BYTES: Final = 32


def encode_record(record: TraceRecord) -> bytes:
    """The canonical bytes of a record: equal records give equal bytes. Textual refs, the query terms and the
    notes of the budget are left out, since they are content."""
    columns = ColumnWriter()
    header = _header(record, [columns.pack(block) for block in record.blocks]).encode()
    return columns.join(_MAGIC + _SIZE(len(header)) + header)


def decode_record(data: bytes) -> TraceRecord:
    """The inverse of `encode_record`. Raises `MalformedTrace` for what it would not have written."""
    view = memoryview(data)
    if bytes(view[:3]) != _MAGIC[:3] or len(view) < 4:
        raise MalformedTrace("it does not begin like a trace")
    if view[3] != RECORD_FORMAT:
        raise MalformedTrace(f"its format {view[3]} is unknown to this release")
    header, columns = _framed(view[4:])
    record = _record(read_json(bytes(header), "header"), ColumnReader(columns))
    if encode_record(record) != data:
        raise MalformedTrace("its bytes are not the canonical ones")
    return record


def _framed(data: memoryview) -> tuple[memoryview, memoryview]:
    """The header, and the columns behind it."""
    end = 4 + int.from_bytes(data[:4], "little")
    if len(data) < max(end, 4):
        raise MalformedTrace("it ends within its header")
    return data[4:end], data[end:]


def _header(record: TraceRecord, lines: list[str]) -> str:
    """The header's JSON: keys in order and no white space, one spelling for one record."""
    seals = record.seals
    degradations = [f"[{q(d.section)},{q(d.status)},{q(d.reason)}]" for d in record.degradations]
    timings = [f"[{q(t.stage)},{t.micros}]" for t in record.timings]
    return (
        f'{{"blocks":[{",".join(lines)}],"budget":{_budget(record.budget)}'
        f',"counting":{_counting(record.counting)},"degradations":[{",".join(degradations)}]'
        f',"formats":{quoted_list(record.formats)}'
        f',"history":{_history(record.history)},"max_breakpoints":{record.max_breakpoints}'
        f',"now":{micros(record.now)},"policy":{q(record.policy)},"prefix":{q(record.prefix)}'
        f',"seals":["{seals.prompt.hex()}","{seals.content.hex()}","{seals.evidence.hex()}"]'
        f',"session":{q(record.session)},"tenant":{q(record.tenant_id)},"timings":[{",".join(timings)}]'
        f',"trace":{q(record.trace_id)},"turn":{q(record.turn)},"user":{q(record.user)}'
        f',"versions":{_versions(record.versions)},"zone":{q(record.zone)}}}'
    )


@lru_cache(maxsize=64)
def _versions(versions: Versions) -> str:
    libraries = [f"{q(name)}:{q(version)}" for name, version in sorted(versions.libraries.items())]
    return f"[{q(versions.engine)},{versions.renderer},{versions.index_format},{{{','.join(libraries)}}}]"


def _budget(budget: BudgetReport) -> str:
    sections = [
        f"[{q(s.section)},{q(s.status)},{s.floor},{s.ceiling},{s.used},{s.included},{s.dropped}]"
        for s in budget.sections
    ]
    return (
        f"[{budget.limit},{budget.used},{q(budget.exactness.value)},{q(budget.tokenizer)},"
        f"{budget.factor_permille},[{','.join(sections)}]]"
    )


@lru_cache(maxsize=256)
def _counting(counting: Counting) -> str:
    frames = [
        f"{q(name)}:[{f.prompt},{f.message},{f.tools},{f.tool},{f.call},{f.result}]"
        for name, f in sorted(counting.frames.items())
    ]
    return (
        f"[{q(counting.tokenizer)},{counting.factor_permille},{q(counting.exactness.value)},"
        f"{{{','.join(frames)}}}]"
    )


def _history(history: HistorySummary | None) -> str:
    if history is None:
        return "null"
    vectors = (
        f",{q(history.embedder)},{history.floor_permille},{history.embedded}" if history.embedder else ""
    )
    return f"[{history.matched},{history.cutoff_micros},{history.archive_epoch},{history.archive_end_no}{vectors}]"


def _record(header: Node, columns: ColumnReader) -> TraceRecord:
    blocks = tuple(columns.unpack(line) for line in header["blocks"].items())
    columns.finish()
    return TraceRecord(
        format=RECORD_FORMAT,
        trace_id=header["trace"].text(),
        tenant_id=header["tenant"].text(),
        user=header["user"].text(),
        session=header["session"].text(),
        turn=header["turn"].text(),
        policy=header["policy"].text(),
        prefix=header["prefix"].text(),
        versions=_read_versions(header["versions"]),
        counting=_read_counting(header["counting"]),
        now=header["now"].instant(),
        zone=header["zone"].text(),
        max_breakpoints=header["max_breakpoints"].integer(),
        formats=tuple(item.member(PromptFormat) for item in header["formats"].items()),
        budget=_read_budget(header["budget"]),
        blocks=blocks,
        history=_read_history(header["history"]),
        degradations=tuple(_read_degradation(item) for item in header["degradations"].items()),
        timings=tuple(Timing(item[0].text(), item[1].integer()) for item in header["timings"].items()),
        seals=Seals(*(header["seals"][i].digest(_DIGEST_BYTES) for i in range(3))),
    )


def _read_versions(node: Node) -> Versions:
    libraries = {name: item.text() for name, item in node[3].pairs()}
    return Versions(node[0].text(), node[1].integer(), node[2].integer(), libraries)


def _read_counting(node: Node) -> Counting:
    frames = {name: _read_frame(item) for name, item in node[3].pairs()}
    return Counting(node[0].text(), node[1].integer(), node[2].member(Exactness), frames)


def _read_frame(node: Node) -> Frame:
    return Frame(*(node[i].integer() for i in range(6)))


def _read_budget(node: Node) -> BudgetReport:
    sections = tuple(_read_section(item) for item in node[5].items())
    exactness = node[2].member(Exactness)
    return BudgetReport(
        node[0].integer(), node[1].integer(), exactness, node[3].text(), node[4].integer(), sections
    )


def _read_section(node: Node) -> SectionReport:
    floor, ceiling, used, included, dropped = (node[i].integer() for i in range(2, 7))
    status = node[1].member(SectionStatus)
    return SectionReport(node[0].member(SectionKind), status, floor, ceiling, used, included, dropped)


def _read_history(node: Node) -> HistorySummary | None:
    if node.optional() is None:
        return None
    matched, cutoff, epoch, end_no = (node[i].integer() for i in range(4))
    if len(node.items()) == 4:
        return HistorySummary(matched, cutoff, epoch, (), end_no)
    embedder, floor, embedded = node[4].text(), node[5].integer(), node[6].integer()
    return HistorySummary(matched, cutoff, epoch, (), end_no, embedder, floor, embedded)


def _read_degradation(node: Node) -> CodedDegradation:
    return CodedDegradation(node[0].member(SectionKind), node[1].member(SectionStatus), node[2].text())
