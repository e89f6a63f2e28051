"""Opening traces: both sides, one side, and bytes that belie their seal."""

from dataclasses import replace

import pytest

from assemblers.records import Degradation, Reason, SectionKind, SectionStatus
from assemblers.trace.candidates import with_refs
from assemblers.trace.content_codec import decode_content, encode_content
from gateway.errors import FailedPrecondition, Internal
from gateway.usecases.opened_trace import open_captured, open_stored
from storage.ports import Seal, StoredTrace
from tests.replay.scene import NOW, SESSION, play

SCENE = play(
    degradations=(Degradation(SectionKind.MATERIAL, SectionStatus.UNAVAILABLE, Reason.LATE, "slow"),)
)
STORED = StoredTrace(
    "11" * 16,
    SESSION,
    "t7",
    "p",
    NOW,
    SCENE.captured.record,
    SCENE.captured.content,
    Seal(3, b"\1" * 32, b"\2" * 32),
)


def test_a_stored_trace_has_its_name_its_owner_and_both_sides():
    trace = open_stored(STORED)
    assert trace.name == f"tenants/acme/traces/{'11' * 16}"
    assert trace.user == SESSION.user
    assert trace.whole() is trace.content
    assert trace.whole().prompt_sha256 == SCENE.assembly.prompt.prompt_sha256


def test_a_captured_trace_has_no_seal():
    assert open_captured(SCENE.captured, SESSION).seal is None


def test_of_erased_content_the_record_remains():
    trace = open_stored(replace(STORED, content=None))
    with pytest.raises(FailedPrecondition, match="its content was erased") as caught:
        trace.whole()
    assert caught.value.metadata == {"name": trace.name}
    remains = trace.readable()
    assert remains.degradations == (
        Degradation(SectionKind.MATERIAL, SectionStatus.UNAVAILABLE, Reason.LATE, ""),
    )
    assert (remains.prompt_sha256, remains.query_terms, remains.asked.labels) == ("", (), ())
    assert len(with_refs(trace.record, remains)) == len(trace.record.blocks)


@pytest.mark.parametrize(
    "stored",
    [
        replace(STORED, record=b"nonsense"),
        replace(STORED, content=b"nonsense"),
        replace(STORED, record=STORED.record[:-1]),
    ],
)
def test_bytes_of_no_known_format_are_a_fault_told_without_their_content(stored: StoredTrace):
    with pytest.raises(Internal, match="read it with the release that wrote it"):
        open_stored(stored)


def test_a_content_that_was_changed_beside_the_chain_is_not_believed():
    content = decode_content(SCENE.captured.content)
    forged = encode_content(replace(content, prompt_sha256="0" * 64))
    with pytest.raises(Internal, match="not the one that its sealed record commits to"):
        open_stored(replace(STORED, content=forged))
