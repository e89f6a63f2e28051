"""Gets a text into every place of a prompt that stored words can reach, and takes the prompt apart again."""

from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask

from muniment.v1 import context_pb2, history_pb2, prompt_pb2, session_pb2, types_pb2
from tests.integration.talk import Person, called, returned, said, stamp

POLICY = """
policy_id: open
sections:
  - prefix: {prefix_id: desk}
  - facts: {}
  - history: {}
  - material: {}
  - session: {max_question_characters: 2000}
  - question: {}
budget: {max_input_tokens: 500000}
facts:
  allowlist:
    - {key: plan, type: TEXT, kind: ATTRIBUTE, values: [starter, team], purpose: Limits differ by plan.}
    - {key: note, type: TEXT, kind: CONTEXT, purpose: What the user is busy with.}
    - {key: wish, type: STATEMENT, kind: PREFERENCE, purpose: Standing instructions.}
    - {key: seats, type: INTEGER, kind: ATTRIBUTE, purpose: Sizes.}
    - {key: company, type: TEXT, kind: ATTRIBUTE, min_origin: TOOL, purpose: Whom we talk to.}
slots:
  focus_types: [supplier]
  filters: [{key: period}]
  formats: [short]
  tool_bindings:
    - tool: lookup
      focus_type: supplier
      focus_id_field: id
      focus_label_field: name
archive: {keep_turns: true, on_end_session: true, include_assistant: true, excerpt_characters: 8000}
"""
UNTRUSTED = {
    types_pb2.SECTION_KIND_FACTS,
    types_pb2.SECTION_KIND_HISTORY,
    types_pb2.SECTION_KIND_MATERIAL,
    types_pb2.SECTION_KIND_SESSION,
}
FORMATS = [
    types_pb2.PROMPT_FORMAT_TEXT,
    types_pb2.PROMPT_FORMAT_OPENAI_CHAT,
    types_pb2.PROMPT_FORMAT_ANTHROPIC_MESSAGES,
]
WINDOW = types_pb2.ModelProfile(provider="openai", model="gpt-4o", context_window_tokens=1_000_000)


async def smuggle(person: Person, text: str) -> Any:
    """A prompt with the text in a fact, a statement, a source, an excerpt and its speaker, a document with its title
    and source, the focus, a filter and an earlier question. `text` is cut to what each of them takes."""
    await person.state("note", text[:200], source=text[:128])
    await person.state("wish", fitting(text, 1024))
    await remember(person, text)
    await set_slots(person, text)
    await person.ask(f"earlier {fitting(text, 60_000)}", turn_id="earlier", model=WINDOW)
    material = context_pb2.Material(text=text, title=text[:200], source=fitting(text, 512))
    return await person.ask(
        "What about the grinder?", turn_id="now", material=[material], model=WINDOW,
        formats=FORMATS,
    )  # fmt: skip


def fitting(text: str, size: int) -> str:
    """As much of the text as that many bytes hold."""
    return text.encode()[:size].decode(errors="ignore")


async def remember(person: Person, text: str) -> None:
    start = stamp(person.gateway.now)
    turn = said(f"grinder {fitting(text, 60_000)}", "past", start)
    turn.speaker = text[:128]
    past = history_pb2.PastSession(session_id="past", start_time=start, turns=[turn])
    await person.gateway.call(
        "ImportHistory", history_pb2.ImportHistoryRequest(user=person.user, sessions=[past])
    )


async def set_slots(person: Person, text: str) -> None:
    slots = types_pb2.Slots(
        focus=types_pb2.Focus(type="supplier", id="s-1", label=text[:200]),
        filters=[types_pb2.Filter(key="period", value=text[:200])],
    )
    request = session_pb2.UpdateSlotsRequest(
        session=person.session(), slots=slots, update_mask=FieldMask(paths=["focus", "filters"])
    )
    await person.gateway.call("UpdateSlots", request)


def untrusted(prompt: prompt_pb2.Prompt) -> list[str]:
    """The texts of the parts that hold stored words."""
    return [p.content.text for m in prompt.messages for p in m.parts if p.section in UNTRUSTED]


async def loop(person: Person, arguments: str, result: str) -> Any:
    """The prompt after a tool call with these arguments and this result."""
    await person.ask("Look it up.", turn_id="q")
    await person.record(called("a", "c", arguments=arguments))
    request = person.request("", model=WINDOW)
    request.turn.CopyFrom(returned("r", "c", result=result))
    return await person.gateway.call("AssembleContext", request)
