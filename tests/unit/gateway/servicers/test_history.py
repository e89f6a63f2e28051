"""HistoryService: imports that can be repeated and continued, and searches that are data."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from assemblers.policy.model import ArchiveRules
from assemblers.records import UserRef
from gateway.confirming import StoredEpochs
from gateway.errors import Outcome, Reason
from gateway.servicers.history import HistoryServicer
from gateway.servicers.tokens import WriteTokens
from gateway.usecases.freshness import Freshness
from gateway.usecases.history import History
from muniment.v1 import history_pb2, types_pb2
from storage.ports import Storage

H = history_pb2
T = types_pb2
NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
MAY = datetime(2026, 5, 8, 14, 0, tzinfo=UTC)
ANN = T.UserRef(tenant_id="acme", user_id="ann")


def stamp(instant: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def turn(turn_id: str, text: str, role: Any = T.ROLE_USER, **fields: Any) -> types_pb2.Turn:
    return T.Turn(turn_id=turn_id, role=role, contents=[T.Content(text=text)], **fields)


def session(*turns: types_pb2.Turn, session_id: str = "s1", start: datetime = MAY) -> history_pb2.PastSession:
    return H.PastSession(session_id=session_id, start_time=stamp(start), turns=turns)


def bring(*sessions: history_pb2.PastSession, user: types_pb2.UserRef = ANN, **fields: Any) -> Any:
    return H.ImportHistoryRequest(user=user, sessions=sessions, **fields)


TALK = session(
    turn("t1", "My invoice INV-2031 was wrong", speaker="Ann"),
    turn("t2", "I am sorry about the invoice", T.ROLE_ASSISTANT),
    turn("t3", "The salary payment was late, too"),
)

CALL = T.Content(tool_call=T.ToolCall(call_id="c", tool_name="t"))


@pytest.fixture
def rpc(storage: Storage, catalog: Any, make_rpc: Any) -> Any:
    history = History(storage.archives, catalog, Freshness(storage, StoredEpochs(storage.epochs)))
    servicer = HistoryServicer(history, WriteTokens(storage.epochs))
    return make_rpc(history_pb2.DESCRIPTOR.services_by_name["HistoryService"], servicer)


async def search(rpc: Any, query: str, user: types_pb2.UserRef = ANN, **fields: Any) -> Any:
    return await rpc("SearchHistory", H.SearchHistoryRequest(user=user, query=query, **fields))


async def texts(rpc: Any, query: str, **fields: Any) -> list[str]:
    return [match.excerpt.text for match in (await search(rpc, query, **fields)).matches]


def counts(report: history_pb2.ImportHistoryResponse) -> tuple[int, int, int, int, int]:
    return (
        report.session_count,
        report.turn_count,
        report.skipped_turn_count,
        report.excerpt_count,
        report.duplicate_count,
    )


async def test_an_import_keeps_the_users_words_and_counts_what_it_left_out(rpc: Any):
    assert counts(await rpc("ImportHistory", bring(TALK))) == (1, 3, 1, 2, 0)
    found = (await search(rpc, "what about invoice INV-2031?")).matches
    best = found[0].excerpt
    assert best.name == "tenants/acme/users/ann/excerpts/1"
    assert (best.text, best.speaker, best.turn_id, best.session_id) == (
        "My invoice INV-2031 was wrong",
        "Ann",
        "t1",
        "s1",
    )
    assert best.role == T.ROLE_USER
    assert best.session_time.ToDatetime(UTC) == MAY
    assert best.occur_time.ToDatetime(UTC) == MAY


async def test_scores_add_up_to_the_total_and_come_best_first(rpc: Any):
    await rpc("ImportHistory", bring(TALK))
    result = await search(rpc, "invoice payment")
    totals = []
    for match in result.matches:
        scores = {score.name: score.value for score in match.scores}
        assert list(scores) == ["total", "keyword", "neighbour", "session"]
        assert scores["total"] == pytest.approx(scores["keyword"] + scores["neighbour"] + scores["session"])
        totals.append(scores["total"])
    assert totals == sorted(totals, reverse=True)
    assert list(result.query_terms) == ["invoic", "payment"]
    assert result.matched_count == len(totals) == 2


async def test_the_assistants_words_are_kept_and_found_where_the_policy_says_so(rpc: Any, catalog: Any):
    catalog.default = replace(
        catalog.default, archive=replace(catalog.default.archive, include_assistant=True)
    )
    assert counts(await rpc("ImportHistory", bring(TALK))) == (1, 3, 0, 3, 0)
    assert "I am sorry about the invoice" in await texts(rpc, "sorry")
    assert await texts(rpc, "sorry about the invoice", policy="memory") != []
    assert "I am sorry about the invoice" not in await texts(rpc, "sorry", policy="memory")


async def test_the_same_import_again_changes_nothing(rpc: Any):
    await rpc("ImportHistory", bring(TALK))
    assert counts(await rpc("ImportHistory", bring(TALK))) == (1, 3, 1, 0, 2)
    assert len(await texts(rpc, "invoice salary payment")) == 2


async def test_a_session_can_be_continued_and_stays_in_order(rpc: Any, storage: Storage):
    await rpc("ImportHistory", bring(TALK))
    longer = session(turn("t0", "Hello"), *TALK.turns, turn("t4", "The invoice is settled now"))
    assert counts(await rpc("ImportHistory", bring(longer))) == (1, 5, 1, 2, 2)
    archive = await storage.archives.load(UserRef("acme", "ann"))
    assert [(e.turn_id, e.position) for e in archive.excerpts] == [("t1", 0), ("t3", 1), ("t0", 2), ("t4", 3)]


async def test_concurrent_imports_of_one_session_store_each_turn_once(rpc: Any):
    reports = await asyncio.gather(*(rpc("ImportHistory", bring(TALK)) for _ in range(5)))
    assert sorted(report.excerpt_count for report in reports) == [0, 0, 0, 0, 2]
    assert all(report.excerpt_count + report.duplicate_count == 2 for report in reports)


async def test_validate_only_counts_and_writes_nothing(rpc: Any):
    assert counts(await rpc("ImportHistory", bring(TALK, validate_only=True))) == (1, 3, 1, 2, 0)
    assert await texts(rpc, "invoice") == []
    await rpc("ImportHistory", bring(TALK))
    assert counts(await rpc("ImportHistory", bring(TALK, validate_only=True))) == (1, 3, 1, 0, 2)


async def test_a_repeat_gets_the_first_answer_byte_for_byte(rpc: Any):
    request = bring(TALK, request_id=str(UUID(int=1, version=4)))
    first = await rpc.raw("ImportHistory", request)
    assert await rpc.raw("ImportHistory", request) == first
    assert H.ImportHistoryResponse.FromString(first).excerpt_count == 2
    request.sessions[0].turns[0].contents[0].text = "other"
    assert (await rpc.failure("ImportHistory", request)).reason is Reason.REQUEST_ID_REUSED


async def test_a_long_turn_is_cut_as_the_policy_says_and_nothing_of_it_is_lost(rpc: Any, catalog: Any):
    catalog.default = replace(catalog.default, archive=ArchiveRules(excerpt_characters=100))
    text = "".join(f"Sentence number {i} about apples. " for i in range(40))
    await rpc("ImportHistory", bring(session(turn("t1", text))))
    found = (await search(rpc, "apples", max_results=200)).matches
    pieces = sorted((int(m.excerpt.name.rsplit("/", 1)[1]), m.excerpt.text) for m in found)
    assert "".join(piece for _, piece in pieces) == text
    assert max(len(piece) for _, piece in pieces) <= 100


async def test_the_day_of_a_turn_is_a_term_and_comes_from_the_turn_not_from_now(rpc: Any):
    said = turn("t1", "we met yesterday", occur_time=stamp(datetime(2023, 5, 8, 12, tzinfo=UTC)))
    await rpc("ImportHistory", bring(session(said, start=datetime(2023, 5, 7, 12, tzinfo=UTC))))
    (match,) = (await search(rpc, "8 May 2023")).matches
    assert match.excerpt.text == "we met yesterday"
    assert match.excerpt.occur_time.ToDatetime(UTC).date().isoformat() == "2023-05-08"


@pytest.mark.parametrize(
    ("sessions", "field", "remedy"),
    [
        ([TALK, TALK], "sessions[1].session_id", "send each once"),
        ([session(turn("a", "x"), turn("a", "y"))], "sessions[0].turns[1].turn_id", "send each once"),
        (
            [TALK, session(turn("a", "x"), session_id="s2", start=NOW + timedelta(minutes=6))],
            "sessions[1].start_time",
            "give when the session began",
        ),
        (
            [session(turn("a", "x", occur_time=stamp(NOW + timedelta(days=1))))],
            "sessions[0].turns[0].occur_time",
            "give when it was said",
        ),
        (
            [session(T.Turn(turn_id="a", role=T.ROLE_USER, contents=[CALL]))],
            "sessions[0].turns[0].contents[0]",
            "holds texts only",
        ),
        ([session(turn("a", "x" * 65_537))], "sessions[0].turns[0].contents[0].text", "at most 65536 bytes"),
    ],
)
async def test_a_wrong_import_is_refused_whole_with_its_place(
    rpc: Any, sessions: list[Any], field: str, remedy: str
):
    failure = await rpc.failure("ImportHistory", bring(*sessions))
    assert failure.outcome is Outcome.INVALID_ARGUMENT
    assert failure.metadata["field"] == field
    assert remedy in failure.message
    assert await texts(rpc, "invoice x") == []


@pytest.mark.parametrize("query", [" ", "\n", "\t \r", "\u200b", "\u00a0\u2003"])
async def test_a_blank_query_is_refused(rpc: Any, query: str):
    failure = await rpc.failure("SearchHistory", H.SearchHistoryRequest(user=ANN, query=query))
    assert failure.metadata["field"] == "query"
    assert "send the words to search for" in failure.message


@pytest.mark.parametrize(
    "query",
    [
        "the of and",
        "?!",
        "*",
        '"',
        "AND OR NOT NEAR(",
        "text:invoice* ^ -wrong",
        "'; DROP TABLE excerpts; --",
        "%_%",
        "%s %n {0} ${x}",
        "\u202e\u2066invoice",
        "<|endoftext|>",
        "a" * 8192,
        "🦊" * 500,
        "\\u0000",
    ],
)
async def test_query_syntax_is_plain_words(rpc: Any, query: str):
    await rpc("ImportHistory", bring(TALK))
    known = {"My invoice INV-2031 was wrong", "The salary payment was late, too"}
    assert set(await texts(rpc, query)) <= known


async def test_quotes_and_operators_do_not_lower_recall(rpc: Any):
    await rpc("ImportHistory", bring(TALK))
    assert await texts(rpc, '"invoice" AND (payment)') == await texts(rpc, "invoice payment")


async def test_a_word_within_unspaced_text_is_found_and_a_part_of_it_is_not(rpc: Any):
    await rpc("ImportHistory", bring(session(turn("t1", "私はPythonを使う"))))
    assert await texts(rpc, "Python") == ["私はPythonを使う"]
    assert await texts(rpc, "thon") == []


async def test_a_session_can_be_left_out_without_losing_others(rpc: Any):
    old = session(*(turn(f"t{i}", f"pear number {i}") for i in range(300)), session_id="now")
    await rpc("ImportHistory", bring(TALK, old, session(turn("t1", "one pear"), session_id="s3")))
    assert await texts(rpc, "pear", exclude_session_id="now") == ["one pear"]


@pytest.mark.parametrize(("asked", "given"), [(0, 20), (1, 1), (200, 30)])
async def test_no_more_results_than_asked_for(rpc: Any, asked: int, given: int):
    await rpc("ImportHistory", bring(session(*(turn(f"t{i}", f"pear {i}") for i in range(30)))))
    result = await search(rpc, "pear", max_results=asked)
    assert len(result.matches) == given
    assert result.matched_count == 30


async def test_matches_end_at_a_mebibyte(rpc: Any, catalog: Any):
    catalog.default = replace(catalog.default, archive=ArchiveRules(excerpt_characters=8000))
    await rpc("ImportHistory", bring(session(*(turn(f"t{i}", "梨 " * 4000) for i in range(70)))))
    result = await search(rpc, "梨", max_results=200)
    assert len(result.matches) == (1 << 20) // len(("梨 " * 4000).encode())
    assert result.matched_count == 70


async def test_the_policys_threshold_applies(rpc: Any, catalog: Any):
    await rpc("ImportHistory", bring(TALK))
    (section,) = catalog.default.sections
    strict = replace(section, settings=replace(section.settings, min_score_micros=10**12))
    catalog.default = replace(catalog.default, sections=(strict,))
    assert await texts(rpc, "invoice") == []


async def test_without_a_history_section_the_built_in_memory_searches(rpc: Any, catalog: Any):
    await rpc("ImportHistory", bring(TALK))
    catalog.default = (await catalog.resolve("acme", "plain")).policy
    assert await texts(rpc, "INV-2031") != []
    failure = await rpc.failure("SearchHistory", H.SearchHistoryRequest(user=ANN, query="x", policy="plain"))
    assert failure.metadata["field"] == "policy"
    assert "policies/memory" in failure.message


async def test_nothing_is_found_across_users_and_tenants(rpc: Any):
    await rpc("ImportHistory", bring(TALK))
    for tenant, user in (("acme", "bob"), ("acme", "a_n"), ("acme", "ANN"), ("other", "ann")):
        assert await texts(rpc, "invoice", user=T.UserRef(tenant_id=tenant, user_id=user)) == []


async def test_a_large_import_lets_other_calls_run_meanwhile(rpc: Any):
    words = " ".join(f"word{i % 5000}" for i in range(2000))
    large = [session(*(turn(f"t{i}", words) for i in range(10)), session_id=f"s{n}") for n in range(10)]
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    report = await rpc("ImportHistory", bring(*large, validate_only=True))
    ticking.cancel()
    assert report.turn_count == 100
    assert ticks > 10
