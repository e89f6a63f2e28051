"""Traces as messages: origins of candidates, the order of scores, and what an erased trace still shows."""

from dataclasses import replace

from assemblers.assembly import SourceKind
from assemblers.records import Outcome, Reason, SectionKind
from assemblers.trace.candidates import Candidate
from gateway.convert.trace_sources import Sources
from gateway.convert.traces import candidate_to, shown_to, trace_to
from gateway.usecases.opened_trace import OpenedTrace, open_captured
from gateway.usecases.traces import ShownTrace
from muniment.v1 import prompt_pb2, trace_pb2, types_pb2
from storage.ports import Seal
from tests.replay.scene import NOW, PREFIX, SESSION, TOOL_LOOP, play

SCENE = play()
TRACE = replace(open_captured(SCENE.captured, SESSION), seal=Seal(2, b"\1" * 32, b"\2" * 32))
ERASED = replace(TRACE, content=None)


def whole(trace: OpenedTrace) -> trace_pb2.Trace:
    return shown_to(ShownTrace(trace, {"fact/2": NOW}))


def test_a_trace_shows_both_sides_and_its_seal():
    message = whole(TRACE)
    assert message.name == f"tenants/acme/traces/{'11' * 16}"
    assert (message.seal.sequence, message.seal.previous_hash, message.seal.record_hash) == (
        2, "01" * 32, "02" * 32,
    )  # fmt: skip
    assert dict(message.labels) == {"k": "v"}
    assert message.prompt_sha256 == SCENE.assembly.prompt.prompt_sha256
    assert message.now.ToDatetime(NOW.tzinfo) == NOW
    assert message.timings[0].duration.ToMicroseconds() == 120
    assert message.history.archive_end_number == 9


def test_a_candidate_says_when_it_was_observed_where_that_is_known():
    times = {c.item_id: c.source.HasField("observe_time") for c in whole(TRACE).candidates}
    assert (times["fact/2"], times["fact/5"], times["question"], times["material/0"]) == (
        True,
        False,
        True,
        True,
    )


def test_lists_leave_the_candidates_out():
    short = trace_to(TRACE)
    assert not short.candidates
    assert short.totals == whole(TRACE).totals


def test_an_erased_trace_shows_fates_and_figures_and_no_texts():
    before, rest = whole(TRACE), whole(ERASED)
    assert [c.outcome for c in rest.candidates] == [c.outcome for c in before.candidates]
    assert [c.tokens for c in rest.candidates] == [c.tokens for c in before.candidates]
    assert {"fact/2", "excerpt/1"} <= {c.item_id for c in rest.candidates}
    assert not rest.labels
    assert not rest.history.query_terms
    assert (rest.prompt_sha256, rest.model.model, rest.model.tokenizer) == ("", "", "bytes")
    assert rest.totals.used == before.totals.used
    assert rest.seal == before.seal
    for text in (b"invoice", b"slot/focus", b"A-17", b"handbook"):
        assert text not in rest.SerializeToString()


def test_the_total_comes_before_its_legs_in_exact_millionths():
    found = next(c for c in whole(TRACE).candidates if c.item_id == "excerpt/1")
    assert [score.name for score in found.scores] == ["total", "keyword", "neighbour", "session"]
    block = next(b for b in TRACE.record.blocks if b.section is SectionKind.HISTORY)
    assert found.scores[0].value == block.scores["total"][0] / 1_000_000


def test_each_kind_of_item_names_its_origin():
    trace = open_captured(play(turn=TOOL_LOOP).captured, SESSION)
    sources = Sources(trace, {})

    def origin(item_id: str, kind: SourceKind) -> types_pb2.SourceRef:
        found = sources.of(_item(item_id, kind))
        assert found is not None
        return found

    assert origin("fact/2", SourceKind.FACT).fact == "tenants/acme/users/ann%40example.com/facts/2"
    assert origin("excerpt/3", SourceKind.EXCERPT).excerpt.endswith("/excerpts/3")
    assert origin("slot/filter/region", SourceKind.SLOT).slot == "filter/region"
    assert origin("material/0", SourceKind.MATERIAL).material == "handbook"
    assert origin("tool/get_plan", SourceKind.PREFIX_REVISION).prefix_revision == PREFIX.name
    assert origin("policy/facts.heading", SourceKind.POLICY_TEXT).policy_text == "facts.heading"
    assert origin("today", SourceKind.POLICY_TEXT).policy_text == "session.show_today"
    assert origin("archived-session/talk-1", SourceKind.ARCHIVED_SESSION).archived_session == "talk-1"
    assert [origin(i, SourceKind.TURN).turn for i in ("question", "call/c1", "result/c1")] == [
        "t7",
        "t8",
        "t9",
    ]


def test_an_origin_that_only_the_erased_content_knew_stays_unset():
    sources = Sources(ERASED, {})
    assert sources.of(_item("material/0", SourceKind.MATERIAL)) is None
    assert sources.of(_item("", SourceKind.SLOT)) is None
    assert sources.of(_item("call/c1", SourceKind.TURN)) is None


def test_a_candidate_without_a_place_has_no_location_and_one_at_the_start_has():
    sources = Sources(TRACE, {})
    out = candidate_to(_item("fact/1", SourceKind.FACT), sources)
    assert not out.HasField("location")
    assert (out.reason, out.outcome) == (prompt_pb2.REASON_SUPERSEDED, trace_pb2.OUTCOME_EXCLUDED)
    first = next(c for c in whole(TRACE).candidates if c.item_id == "prefix")
    assert first.HasField("location")


def test_a_dry_run_has_neither_name_nor_seal():
    message = whole(OpenedTrace(SESSION, "t7", TRACE.record, TRACE.content, None))
    assert message.name == ""
    assert not message.HasField("seal")


def _item(item_id: str, kind: SourceKind) -> Candidate:
    field = "session.show_today" if item_id == "today" else ""
    return Candidate(
        item_id, SectionKind.FACTS, kind, "", Outcome.EXCLUDED, Reason.SUPERSEDED, field, {}, 0, None
    )
