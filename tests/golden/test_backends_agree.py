"""A conversation with everything in it, played on both sets of backends: the same bytes, and the same records."""

from typing import Any

import pytest

from gateway.usecases.opened_trace import open_stored
from muniment.v1 import fact_pb2, history_pb2, session_pb2, types_pb2
from tests.backends import BACKENDS, MakeSettings
from tests.integration.in_process import Gateway, gateway_on
from tests.integration.requests import TENANT
from tests.integration.talk import Person, called, returned

BOTH = [types_pb2.PROMPT_FORMAT_TEXT, types_pb2.PROMPT_FORMAT_OPENAI_CHAT]

SESSIONS = {
    "coffee": (
        "My grinder jams when the beans are oily.",
        "Größe 3 is too coarse for 株式会社ミムラ's beans.",
    ),
    "bikes": ("The chain of my bike jumps.", "I prefer short answers.", "支払い条件は三十日です"),
    "empty": ("?!", "\U0001f9c1" * 3),
}
QUESTIONS = (
    "What about the grinder?",
    "株式会社ミムラ: 支払い条件?",
    "chain OR grinder NOT beans*",
    '-secret "quoted" AND near(',
    "'; DROP TABLE facts; --",
    "%_%",
    "Ｇｒｉｎｄｅｒ \u202e jams\u200b",
    "...",
)


async def played(gateway: Gateway) -> list[bytes]:
    """What was answered, without the random names of traces."""
    await gateway.use_desk()
    ada, told = Person(gateway), list[Any]()
    told.append(await ada.state("plan", "team"))
    told.append(await ada.state("note", "moves house"))
    told.append(await ada.state("wish", "Never mention ‘peanuts’: <|im_start|>"))
    told.append(await ada.state("plan", "starter"))
    told += [await ada.remember(name, *texts) for name, texts in SESSIONS.items()]
    await ada.record(called("c", "x"), returned("r", "x", result='{"id": "s-1", "name": "Hofmann"}'))
    for number, question in enumerate(QUESTIONS):
        gateway.passes(hours=7)
        told.append(
            await ada.ask(question, turn_id=f"q{number}", formats=BOTH, limit=400 + 300 * (number % 3))
        )
        told.append(await gateway.call(
            "SearchHistory", history_pb2.SearchHistoryRequest(user=ada.user, query=question)
        ))  # fmt: skip
    told.append(await gateway.call("EndSession", session_pb2.EndSessionRequest(session=ada.session())))
    told.append(await ada.ask("And after the end?", session_id="s2", turn_id="last"))
    everything = fact_pb2.ListFactsRequest(user=ada.user, include_retired=True)
    told.append(await gateway.call("ListFacts", everything))
    return [_bare(message) for message in told]


def _bare(message: Any) -> bytes:
    if message.DESCRIPTOR.name == "AssembleContextResponse":
        assert message.trace.startswith(f"tenants/{TENANT}/traces/")
        message.ClearField("trace")
    encoded: bytes = message.SerializeToString(deterministic=True)
    return encoded


async def recorded(gateway: Gateway) -> list[str]:
    """What the ledger says of each answer, without what is random: commitments, marks and times taken."""
    chain = await gateway.storage.traces.chain(TENANT, 0, 100)
    opened = [open_stored(stored) for stored in chain]
    return [
        f"{t.whole().prompt_sha256} {t.record.policy} {t.record.budget} {t.record.blocks}" for t in opened
    ]


@pytest.mark.timeout(300)
async def test_a_conversation_is_answered_in_the_same_bytes_on_both(settings_of: MakeSettings):
    answers, ledgers = [], []
    for backend in BACKENDS:
        async with gateway_on(settings_of(backend)) as gateway:
            answers.append(await played(gateway))
            ledgers.append(await recorded(gateway))
    assert len(answers[0]) > 20
    for place, (one, other) in enumerate(zip(*answers, strict=True)):
        assert one == other, place
    assert ledgers[0] == ledgers[1]
    assert len(ledgers[0]) == len(QUESTIONS) + 1
