"""The record's bytes: canonical, strict, without content, and pinned so that they cannot drift."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.assembly import (
    OUTCOMES,
    REASONS,
    BudgetReport,
    CandidateBlock,
    HistorySummary,
    PromptFormat,
    SectionReport,
    SourceKind,
)
from assemblers.records import Reason, SectionKind, SectionStatus
from assemblers.tokens import Exactness, Frame
from assemblers.trace.codec import decode_record, encode_record
from assemblers.trace.errors import MalformedTrace
from assemblers.trace.record import CodedDegradation, Counting, Seals, Timing, TraceRecord, Versions

NOW = datetime(2026, 11, 29, 9, 30, 0, 123456, tzinfo=UTC)


def block(rows: int, *, numbered: bool = True, **changes: object) -> CandidateBlock:
    column = np.arange(rows)
    base = CandidateBlock(
        SectionKind.HISTORY if numbered else SectionKind.SESSION,
        SourceKind.EXCERPT if numbered else SourceKind.SLOT,
        "excerpt/" if numbered else "",
        column.astype(np.int32) + 1 if numbered else tuple(f"slot/{i}" for i in range(rows)),
        (column % len(OUTCOMES)).astype(np.uint8), (column % len(REASONS)).astype(np.uint8),
        (column % 2).astype(np.uint8), ("", "sections[2].budget.ceiling_tokens"),
        column.astype(np.int32), column.astype(np.int32) * 7 - 1, column.astype(np.int32) * 3,
        1, 2, {"total": column.astype(np.int64) << 33, "keyword": column.astype(np.int64)} if numbered else {},
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]  # the keywords are fields of CandidateBlock


def record(*blocks: CandidateBlock, **changes: object) -> TraceRecord:
    base = TraceRecord(
        format=1, trace_id="t1", tenant_id="acme", user="u" * 32, session="s" * 32, turn="r" * 32,
        policy="tenants/acme/policies/p/revisions/aa", prefix="",
        versions=Versions("0.1.0", 1, 1, {"regex": "1", "numpy": "2.4.6"}),
        counting=Counting("o200k_base", 1000, Exactness.EXACT, {"NEUTRAL": Frame(3, 4, 5, 6, 7, 8)}),
        now=NOW, zone="Europe/Berlin", max_breakpoints=4, formats=(PromptFormat.TEXT,),
        budget=BudgetReport(
            8000, 7000, Exactness.ESTIMATE, "o200k_base", 1000,
            (SectionReport(SectionKind.FACTS, SectionStatus.TRUNCATED, 1, 2, 3, 4, 5),),
        ),
        blocks=blocks, history=HistorySummary(512, 99, 7, (), 701),
        degradations=(CodedDegradation(SectionKind.FACTS, SectionStatus.UNAVAILABLE, Reason.LATE),),
        timings=(Timing("gather", 12),), seals=Seals(b"1" * 32, b"2" * 32, b"3" * 32),
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]  # the keywords are fields of TraceRecord


def test_a_record_comes_back_as_it_was():
    original = record(block(200), block(3, numbered=False), block(0))
    again = decode_record(encode_record(original))
    for name in TraceRecord.__dataclass_fields__:
        if name not in ("blocks", "versions", "counting"):
            assert getattr(again, name) == getattr(original, name), name
    assert again.versions.libraries == original.versions.libraries
    assert again.counting.frames == original.counting.frames
    for read, written in zip(again.blocks, original.blocks, strict=True):
        _assert_same_columns(read, written)


def _assert_same_columns(read: CandidateBlock, written: CandidateBlock) -> None:
    assert (read.section, read.source_kind, read.item_prefix) == (
        written.section,
        written.source_kind,
        written.item_prefix,
    )
    assert (read.policy_fields, read.message, read.part) == (
        written.policy_fields,
        written.message,
        written.part,
    )
    for name in ("outcomes", "reasons", "fields", "tokens", "offsets", "lengths"):
        assert np.array_equal(getattr(read, name), getattr(written, name)), name
        assert getattr(read, name).dtype == getattr(written, name).dtype
    assert set(read.scores) == set(written.scores)
    assert all(np.array_equal(read.scores[leg], written.scores[leg]) for leg in written.scores)


def test_textual_refs_query_terms_and_notes_are_not_in_the_bytes():
    secret = "canary-4711"
    noted = SectionReport(SectionKind.FACTS, SectionStatus.OK, 0, 0, 0, 0, 0, secret)
    budget = BudgetReport(8000, 7000, Exactness.ESTIMATE, "o200k_base", 1000, (noted,))
    data = encode_record(
        record(
            block(2, numbered=False, refs=(f"slot/{secret}", "slot/b")),
            history=HistorySummary(1, 0, 1, (secret,), 2),
            budget=budget,
        )
    )
    assert secret.encode() not in data
    again = decode_record(data)
    assert again.blocks[0].refs == ("", "")
    assert again.history == HistorySummary(1, 0, 1, (), 2)


def test_equal_records_have_equal_bytes_whatever_the_order_of_their_mappings():
    one = record(block(3))
    columns = one.blocks[0].scores
    turned = replace(
        one,
        versions=Versions("0.1.0", 1, 1, {"numpy": "2.4.6", "regex": "1"}),
        blocks=(replace(one.blocks[0], scores=dict(sorted(columns.items(), reverse=True))),),
    )
    assert encode_record(one) == encode_record(turned)


def test_the_bytes_of_format_1_do_not_drift():
    """A change here is a change of format: it needs a new number, and the old one must stay readable."""
    expected = (
        b'{"blocks":[["HISTORY","EXCERPT","excerpt/",2,1,["","sections[2].budget.ceiling_tokens"],1,2,'
        b'["keyword","total"],8]],"budget":[8000,7000,"ESTIMATE","o200k_base",1000,[["FACTS","TRUNCATED",1,2,3,4,5]]],'
        b'"counting":["o200k_base",1000,"EXACT",{"NEUTRAL":[3,4,5,6,7,8]}],'
        b'"degradations":[["FACTS","UNAVAILABLE","LATE"]],"formats":["TEXT"],"history":[512,99,7,701],'
        b'"max_breakpoints":4,"now":1795944600123456,"policy":"tenants/acme/policies/p/revisions/aa","prefix":"",'
        b'"seals":["' + b"31" * 32 + b'","' + b"32" * 32 + b'","' + b"33" * 32 + b'"],"session":"' + b"s" * 32
        + b'","tenant":"acme","timings":[["gather",12]],"trace":"t1","turn":"' + b"r" * 32 + b'","user":"'
        + b"u" * 32 + b'","versions":["0.1.0",1,1,{"numpy":"2.4.6","regex":"1"}],"zone":"Europe/Berlin"}'
    )  # fmt: skip
    codes, tokens, offsets, lengths = (
        "0001 0001 0001",
        "00000000 01000000",
        "ffffffff 06000000",
        "00000000 03000000",
    )
    refs, keyword, total = (
        "01000000 02000000",
        "0000000000000000 0100000000000000",
        "0000000000000000 0000000002000000",
    )
    columns = bytes.fromhex(f"{codes} {tokens} {offsets} {lengths} {refs} {keyword} {total}")
    data = encode_record(record(block(2)))
    assert data == b"MTR\x01" + len(expected).to_bytes(4, "little") + expected + columns


def test_the_codes_of_outcomes_and_reasons_only_grow_at_the_end():
    """Records store places in these tables: a name that moves would change what old traces say."""
    assert [outcome.value for outcome in OUTCOMES[:3]] == ["INCLUDED", "SHORTENED", "EXCLUDED"]
    assert [reason.value for reason in REASONS[:16]] == [
        "REQUIRED", "WITHIN_BUDGET", "OVER_BUDGET", "OVER_CEILING", "BELOW_THRESHOLD", "BELOW_CUTOFF", "DUPLICATE",
        "EXPIRED", "SUPERSEDED", "INVALIDATED", "KEY_NOT_ALLOWED", "LOW_CONFIDENCE", "EMPTY_QUERY", "LATE",
        "UNAVAILABLE", "ERASED",
    ]  # fmt: skip


SMALL = np.array([0, 7, 2**32 - 1])


@pytest.mark.parametrize(
    ("leg", "size"), [(SMALL, 4), (SMALL + 1, 8), (SMALL - 1, 8), (np.array([0, -(2**63), 2**63 - 1]), 8)]
)
def test_scores_take_four_bytes_where_all_of_a_block_fit(
    leg: np.ndarray[tuple[int], np.dtype[np.int64]], size: int
):
    data = encode_record(record(block(3, scores={"keyword": SMALL, "total": leg})))
    assert data.count(b'"keyword","total"],%d]' % size) == 1
    read = decode_record(data).blocks[0].scores
    assert (read["keyword"].tolist(), read["total"].tolist()) == (SMALL.tolist(), leg.tolist())
    assert read["total"].dtype == np.int64
    plain = encode_record(record(block(3, scores={})))
    assert len(data) - len(plain) == len('"keyword","total"') + 3 * 2 * size


@pytest.mark.parametrize("size", [b"8", b"0", b"5"])
def test_another_size_of_scores_than_the_canonical_one_is_refused(size: bytes):
    data = encode_record(record(block(0, scores={"total": np.zeros(0, np.int64)})))
    assert data.count(b'["total"],4]') == 1
    with pytest.raises(MalformedTrace, match="not the canonical ones"):
        decode_record(data.replace(b'["total"],4]', b'["total"],' + size + b"]"))


def test_every_truncation_is_refused():
    data = encode_record(record(block(2), block(1, numbered=False)))
    for end in range(len(data)):
        with pytest.raises(MalformedTrace):
            decode_record(data[:end])


def test_bytes_after_the_end_are_refused():
    with pytest.raises(MalformedTrace, match="bytes after the last column"):
        decode_record(encode_record(record(block(2))) + b"\0")


DATA = encode_record(record(block(2), block(1, numbered=False)))


@given(at=st.integers(0, len(DATA) - 1), value=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_is_another_record(at: int, value: int):
    changed = bytearray(DATA)
    changed[at] = value
    try:
        again = decode_record(bytes(changed))
    except MalformedTrace:
        return
    assert encode_record(again) == bytes(changed)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_malformed(data: bytes):
    for start in (b"", b"MTR\x01", b"MTR\x01\x02\0\0\0{}"):
        with pytest.raises(MalformedTrace):
            decode_record(start + data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"MTR\x01", b"MTR\x02", "format 2 is unknown"),
        (b"MTR", b"XTR", "does not begin like a trace"),
        (b'"trace":"t1"', b'"trace":1234', "header.trace is not a text"),
        (b'"trace":"t1"', b'"trade":"t1"', "header.trace is missing"),
        (b'"max_breakpoints":4', b'"max_breakpoints":"', "not JSON"),
        (b'"now":1795944600123456', b'"now":1795944600.12345', "header.now is not a whole number"),
        (b'"max_breakpoints":4', b'"max_breakpoints":[', "not JSON"),
        (b'"formats":["TEXT"]', b'"formats":["TEXX"]', "header.formats.0 is not a known PromptFormat"),
        (b'"seals":["31', b'"seals":["3g', "header.seals.0 is not 32 bytes in hex"),
        (b'"history":[512', b'"history":[5.2', "header.history.0 is not a whole number"),
        (b'"degradations":[[', b'"degradations":{[', "not JSON"),
        (b'[["gather",12]]', b'{"gath":["er"]}', "header.timings is not a list"),
        (b'"excerpt/",2,1', b'"excerpt/",3,1', "the columns end too early"),
        (b'"tenant":"acme"', b'"tenant" :acme', "not JSON"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(old: bytes, new: bytes, message: str):
    assert DATA.count(old) == 1
    with pytest.raises(MalformedTrace, match=message):
        decode_record(DATA.replace(old, new))


def test_white_space_in_the_header_is_not_canonical():
    size = int.from_bytes(DATA[4:8], "little")
    header = DATA[8 : 8 + size].replace(b'"tenant":', b'"tenant": ')
    with pytest.raises(MalformedTrace, match="not the canonical ones"):
        decode_record(DATA[:4] + len(header).to_bytes(4, "little") + header + DATA[8 + size :])


UNKNOWN = np.full(2, 250, np.uint8)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (block(2, outcomes=UNKNOWN), "header.blocks.0 has an unknown outcome"),
        (block(2, reasons=UNKNOWN), "header.blocks.0 has an unknown reason"),
        (block(2, fields=UNKNOWN), "header.blocks.0 has an unknown policy field"),
    ],
)
def test_an_unknown_code_is_refused(wrong: CandidateBlock, message: str):
    with pytest.raises(MalformedTrace, match=message):
        decode_record(encode_record(record(wrong)))


def test_a_column_of_another_length_or_type_is_refused_when_written():
    with pytest.raises(ValueError, match="another length or type"):
        encode_record(record(block(3, tokens=np.zeros(2, np.int32))))
    with pytest.raises(ValueError, match="another length or type"):
        encode_record(record(block(3, tokens=np.zeros(3, np.int64))))


@pytest.mark.parametrize(
    ("lowest", "size"), [(0, 4), (-1, -4), (-(2**31), -4), (-(2**31) - 1, 8), (2**32 - 1, 4), (2**32, 8)]
)
def test_scores_take_four_bytes_where_they_fit_and_come_back(lowest: int, size: int):
    scores = {"cosine": np.array([1, 2, 3], np.int64), "total": np.array([lowest, 5, 0], np.int64)}
    data = encode_record(record(block(3, scores=scores)))
    assert f'["cosine","total"],{size}]'.encode() in data
    read = decode_record(data).blocks[0].scores
    assert {name: column.tolist() for name, column in read.items()} == {
        "cosine": [1, 2, 3],
        "total": [lowest, 5, 0],
    }


def test_what_vectors_had_to_do_with_it_comes_back_and_the_question_does_not():
    summary = HistorySummary(8, -5, 7, ("tea",), 9, "model@1", 200, 6, b"1234")
    data = encode_record(record(block(2), history=summary))
    assert decode_record(data).history == replace(summary, query_terms=(), query_vector=b"")
    assert b"tea" not in data


def test_strided_columns_are_written_as_they_read():
    shared = np.arange(18, dtype=np.int32).reshape(3, 6).T
    strided = block(3, tokens=shared[0], offsets=shared[1], lengths=shared[2])
    plain = block(3, tokens=shared[0].copy(), offsets=shared[1].copy(), lengths=shared[2].copy())
    assert encode_record(record(strided)) == encode_record(record(plain))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
int32s = st.integers(-(2**31), 2**31 - 1)


@given(
    rows=st.lists(st.tuples(int32s, int32s, st.integers(0, 2), st.integers(0, 15)), max_size=5),
    name=texts, zone=texts, stage=texts, micros=st.integers(-(2**40), 2**52), matched=st.integers(0, 2**31),
)  # fmt: skip
def test_any_record_comes_back(
    rows: list[tuple[int, int, int, int]], name: str, zone: str, stage: str, micros: int, matched: int
):
    refs, tokens, outcomes, reasons = ([row[i] for row in rows] for i in range(4))
    columns = block(
        len(rows),
        refs=np.array(refs, np.int32),
        tokens=np.array(tokens, np.int32),
        outcomes=np.array(outcomes, np.uint8),
        reasons=np.array(reasons, np.uint8),
        fields=np.zeros(len(rows), np.uint8),
        policy_fields=("", name),
    )
    original = record(
        columns, trace_id=name, zone=zone, timings=(Timing(stage, 1),), history=HistorySummary(matched, 0, 1, ()),
        now=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros),
    )  # fmt: skip
    data = encode_record(original)
    again = decode_record(data)
    assert encode_record(again) == data
    assert (again.trace_id, again.zone, again.timings, again.now) == (
        name,
        zone,
        original.timings,
        original.now,
    )
    assert again.blocks[0].refs.tolist() == refs  # type: ignore[union-attr]  # numbered, so an array
    assert again.blocks[0].policy_fields == ("", name)
