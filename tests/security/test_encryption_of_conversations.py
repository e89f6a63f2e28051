"""A whole conversation through the gateway leaves none of its words on the disk, and all of them to its user."""

from pathlib import Path

import pytest

from muniment.v1 import context_pb2, session_pb2, trace_pb2, types_pb2
from tests.integration.in_process import gateway_at
from tests.integration.talk import Person, use_policy
from tests.security.carriers import POLICY, loop, set_slots

CANARY = "zitronenfalter 7f3a91"
CLEAR = "grinders-dept"
LABEL = "label-5c02"


async def converse(ada: Person) -> None:
    """Say it in a fact, a statement, a past session, slots, a question, a document, a label, a tool's call."""
    await ada.state("note", CANARY, source=CLEAR)
    await ada.state("wish", f"Say {CANARY}.")
    await ada.remember("past", f"The grinder is a {CANARY}.")
    await set_slots(ada, CANARY)
    await ada.ask(f"Earlier: {CANARY}?", turn_id="earlier")
    await loop(ada, f'{{"say":"{CANARY}"}}', f'"{CANARY}"')
    material = context_pb2.Material(text=f"A text on {CANARY}.", title=CANARY, source="kb")
    await ada.ask(f"What of the grinder {CANARY}?", turn_id="now", material=[material], labels={"l": LABEL})
    await ada.gateway.call("EndSession", session_pb2.EndSessionRequest(session=ada.session()))


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A data folder after the conversation."""
    async with gateway_at(tmp_path) as gateway:
        await gateway.use_desk()
        await use_policy(gateway, POLICY)
        await converse(Person(gateway))
        # Before the log is moved into the database file, and after.
        (tmp_path / "before").write_bytes(stored(tmp_path))
    return tmp_path


def stored(folder: Path) -> bytes:
    """All bytes of all files but the key's."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "master.key")


async def test_no_word_of_it_lies_on_the_disk(folder: Path):
    found = stored(folder).lower()
    # What is in clear by design is found, so what is not found would be.
    assert CLEAR.encode() in found
    for word in (*CANARY.split(), "zitronenfalt", LABEL, "earlier:"):
        assert word.encode() not in found


async def test_its_user_reads_all_of_it_after_a_restart(folder: Path):
    async with gateway_at(folder) as gateway:
        ada = Person(gateway)
        answer = await ada.ask(f"What of the grinder {CANARY}?", session_id="s2", turn_id="again")
        kinds = {p.section for m in answer.prompt.messages for p in m.parts if CANARY in p.content.text}
        assert {types_pb2.SECTION_KIND_FACTS, types_pb2.SECTION_KIND_HISTORY} <= kinds
        assert await ada.replays(answer)
        before = trace_pb2.ListTracesRequest(tenant_id="acme", user_id="ada", session_id="s1")
        for trace in (await gateway.call("ListTraces", before)).traces:
            assert (
                await gateway.call("ReplayTrace", trace_pb2.ReplayTraceRequest(name=trace.name))
            ).identical
