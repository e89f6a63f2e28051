"""Capturing: nothing of the content is in the record, and the record commits to all of it."""

from dataclasses import replace
from hashlib import sha256

import pytest

from assemblers.assembly import PromptFormat
from assemblers.records import Degradation, FactState, Reason, SectionKind, SectionStatus
from assemblers.trace.capture import counting_of, prompt_seal
from assemblers.trace.codec import decode_record
from assemblers.trace.commitments import commitment, evidence_digest
from assemblers.trace.content_codec import decode_content
from assemblers.trace.replay import content_matches, evidence_matches
from tests.replay.scene import EXCERPTS, FACTS, PSEUDONYM, SALT, SESSION, TOKENS, TOOL_LOOP, play


def test_the_record_names_what_decided():
    scene = play(formats=(PromptFormat.TEXT,))
    record = decode_record(scene.captured.record)
    assert record.policy == scene.surroundings.policy.name
    assert scene.surroundings.prefix is not None
    assert record.prefix == scene.surroundings.prefix.name
    assert (record.counting.tokenizer, record.counting.factor_permille) == ("bytes", 1000)
    assert record.budget.used == scene.assembly.prompt.budget.used
    assert (record.zone, record.formats) == ("UTC", (PromptFormat.TEXT,))
    assert record.history is not None
    assert record.history.archive_end_no == 9
    assert [timing.stage for timing in record.timings] == ["gather", "assemble"]


@pytest.mark.parametrize(
    "secret",
    [
        "invoice", "team", "starter", "Berlin", "Refund", "A-17", "Order", "region", "slot/", "t6", "t7",
        SESSION.user_id, SESSION.session_id, PSEUDONYM, SALT.hex(), "Where is",
    ],
)  # fmt: skip
def test_no_content_and_no_id_of_a_person_is_in_the_record(secret: str):
    scene = play(turn=TOOL_LOOP)
    assert secret.encode() not in scene.captured.record


def test_neither_the_plain_digest_of_the_prompt_nor_of_the_content_is_in_the_record():
    scene = play()
    plain = scene.assembly.prompt.prompt_sha256
    for digest in (plain.encode(), bytes.fromhex(plain), sha256(scene.captured.content).hexdigest().encode()):
        assert digest not in scene.captured.record


def test_the_record_commits_to_prompt_content_and_evidence():
    scene = play()
    record = decode_record(scene.captured.record)
    content = decode_content(scene.captured.content)
    assert record.seals.prompt == prompt_seal(SALT, scene.assembly.prompt.prompt_sha256)
    assert record.seals.content == commitment(SALT, scene.captured.content)
    facts = {fact.no: fact.commitment for fact in FACTS}
    excerpts = {excerpt.no: excerpt.commitment for excerpt in EXCERPTS}
    in_order = [facts[no] for no in (9, 4, 1, 2, 5, 6, 3, 8)] + [
        excerpts[no] for no in (1, 2, 3, 5, 6, 4, 7, 8)
    ]
    assert record.seals.evidence == evidence_digest(in_order)
    assert content_matches(record, content, scene.captured.content)


def test_stored_evidence_that_was_changed_is_noticed():
    scene = play()
    record, given = decode_record(scene.captured.record), scene.surroundings
    assert evidence_matches(record, given)
    gone = replace(FACTS[0], value="", state=FactState.DELETED)
    assert evidence_matches(record, replace(given, facts={**given.facts, gone.no: gone}))
    forged = replace(FACTS[0], commitment=bytes(32))
    assert not evidence_matches(record, replace(given, facts={**given.facts, forged.no: forged}))
    assert not evidence_matches(record, replace(given, excerpts={}))


def test_a_content_that_was_changed_beside_the_chain_does_not_match():
    scene = play()
    forged = scene.captured.content.replace(b"Which invoice", b"Which payment")
    assert forged != scene.captured.content
    assert not content_matches(decode_record(scene.captured.record), decode_content(forged), forged)


def test_the_same_inputs_give_the_same_bytes():
    assert play().captured == play().captured


def test_the_content_holds_what_the_call_brought():
    scene = play(turn=TOOL_LOOP)
    content = decode_content(scene.captured.content)
    assert content.turn == TOOL_LOOP
    assert content.session_id == SESSION.session_id
    assert content.asked.labels == (("k", "v"),)
    assert content.prompt_sha256 == scene.assembly.prompt.prompt_sha256
    assert content.query_terms == ("invoic", "wrong")


def test_degradations_are_codes_in_the_record_and_words_in_the_content():
    late = Degradation(SectionKind.FACTS, SectionStatus.UNAVAILABLE, Reason.LATE, "canary-detail")
    scene = play(facts=None, degradations=(late,))
    record = decode_record(scene.captured.record)
    assert [(d.section, d.reason) for d in record.degradations] == [(SectionKind.FACTS, "LATE")]
    assert b"canary-detail" not in scene.captured.record
    assert late in decode_content(scene.captured.content).degradations


def test_a_counting_is_made_once_for_a_model():
    assert counting_of(TOKENS) is counting_of(TOKENS)
    assert counting_of(replace(TOKENS, factor_permille=1100)) is not counting_of(TOKENS)
