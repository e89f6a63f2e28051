"""Ids that could be confused are distinct or refused, and what is searched for is words and nothing else."""

import pytest

from muniment.v1 import fact_pb2, history_pb2, session_pb2, trace_pb2
from tests.integration.in_process import Gateway
from tests.integration.talk import Person, facts, slots
from tests.security.hostile import MARKERS, QUERIES, SMUGGLED, SPECIAL

DISTINCT = [
    (("a:b", "c"), ("a", "b:c")),
    (("a|b", "c"), ("a", "b|c")),
    (("a/b", "c"), ("a", "b/c")),
    (("ab", "c"), ("a", "bc")),
    (("t", "user"), ("T", "user")),
    (("t", "User"), ("t", "user")),
    (("t", "0"), ("t", "00")),
    (("t", "1"), ("t", "1.0")),
    (("t", "null"), ("t", "None")),
    (("t", "-"), ("t", "_")),
    (("t", "a/../b"), ("t", "b")),
    (("t/users/u", "x"), ("t", "u/users/x")),
]
REFUSED = [
    "", "u ", " u", "u\n", "u\t", "café", "cafe\u0301", "\u212a", "аdmin", "u\u200b", "*", "%", "a\u001fb", "a%3Ab",
    "' OR '1'='1", "{tag}", "a\\b", "?", "[a-z]", "$1", "a" * 129,
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DISTINCT)
async def test_ids_that_look_joined_alike_are_people_of_their_own(gateway: Gateway, one, other):
    people = [Person(gateway, user_id, tenant_id) for tenant_id, user_id in (one, other)]
    for number, person in enumerate(people):
        await person.remember("old", f"mark{number} grinder")
        await person.ask(f"mark{number} question", policy="policies/memory")
    for number, person in enumerate(people):
        again = await person.ask("And the grinder?", policy="policies/memory")
        text = str(again.prompt)
        assert [n for n in (0, 1) if f"mark{n} grinder" in text] == [number]
        assert [n for n in (0, 1) if f"mark{n} question" in text] == [number]
        listed = trace_pb2.ListTracesRequest(tenant_id=person.tenant_id, user_id=person.user_id)
        assert len((await gateway.call("ListTraces", listed)).traces) == 2


@pytest.mark.parametrize("user_id", REFUSED, ids=ascii)
async def test_ids_outside_the_alphabet_are_refused_everywhere(gateway: Gateway, user_id: str):
    person = Person(gateway, user_id)
    for method, request, field in (
        ("AssembleContext", person.request("Hello?"), "session.user_id"),
        ("GetSession", session_pb2.GetSessionRequest(session=person.session()), "session.user_id"),
        ("ListFacts", fact_pb2.ListFactsRequest(user=person.user), "user.user_id"),
        ("SearchHistory", history_pb2.SearchHistoryRequest(user=person.user, query="x"), "user.user_id"),
    ):
        refused = await gateway.refusal(method, request)
        assert "is not an id" in refused.violations[field]


async def test_sessions_of_confusable_ids_keep_their_slots_apart(gateway: Gateway):
    pairs = [("a:b", "c"), ("a", "b:c"), ("a:b:c", "c"), ("A", "b:c")]
    for number, (user_id, session_id) in enumerate(pairs):
        await Person(gateway, user_id).ask(f"mark{number}?", session_id)
    for number, (user_id, session_id) in enumerate(pairs):
        text = slots(await Person(gateway, user_id).ask("What did I ask?", session_id, "again"))
        assert [n for n in range(len(pairs)) if f"mark{n}?" in text] == [number]


async def search(person: Person, query: str) -> list[str]:
    request = history_pb2.SearchHistoryRequest(user=person.user, query=query)
    answer = await person.gateway.call("SearchHistory", request)
    return [match.excerpt.text for match in answer.matches]


async def test_whatever_is_searched_for_gives_ones_own_and_changes_nothing(gateway: Gateway):
    own = ["The burr grinder jams on dark roasts.", "My kettle leaks at the spout."]
    bob, ada = Person(gateway, "bob"), Person(gateway)
    await bob.remember("old", "The burr grinder of somebody else.", "select or drop not near match")
    await ada.remember("old", *own)
    hidden = [text for name, text in SMUGGLED.items() if name != "nul"]
    naughty = [
        q for q in (*QUERIES, *MARKERS, *SPECIAL[:40], *hidden, "a" * 8192, "x " * 4096) if "\0" not in q
    ]
    for query in naughty:
        request = history_pb2.SearchHistoryRequest(user=ada.user, query=query)
        assert await gateway.code("SearchHistory", request) in {"OK", "INVALID_ARGUMENT"}
        assert set(await search(ada, f"{query[:8000]} grinder")) <= set(own)
    assert (await search(ada, "burr grinder"))[0] == own[0]
    assert (await search(ada, "leaking kettle"))[0] == own[1]


async def test_no_more_than_64_terms_are_searched_by(ada: Person):
    words = [f"word{n}" for n in range(70)]
    await ada.remember("old", *words)
    request = history_pb2.SearchHistoryRequest(user=ada.user, query=" ".join(words), max_results=200)
    answer = await ada.gateway.call("SearchHistory", request)
    assert list(answer.query_terms) == words[:64]


async def test_a_hostile_question_finds_what_its_words_find(ada: Person):
    await ada.remember("old", "The burr grinder jams on dark roasts.")
    for query in (
        "grinder' OR 1=1 --",
        "grinder* NEAR/2 (x)",
        "<|im_start|>grinder",
        "-grinder",
        "grinder\u200b",
    ):
        assert await search(ada, query) == ["The burr grinder jams on dark roasts."], query
        assert facts(await ada.ask(query)) == ""
