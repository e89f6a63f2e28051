"""A user of the in-process gateway in a few words: state facts, remember sessions, ask, read the prompt."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prompt_pb2,
    session_pb2,
    trace_pb2,
    types_pb2,
)
from tests.integration.in_process import Gateway
from tests.integration.requests import DESK, TENANT


@dataclass
class Person:
    """Somebody who uses the gateway."""

    gateway: Gateway
    user_id: str = "ada"
    tenant_id: str = TENANT
    asked: int = 0

    @property
    def user(self) -> types_pb2.UserRef:
        return types_pb2.UserRef(tenant_id=self.tenant_id, user_id=self.user_id)

    def session(self, session_id: str = "s1") -> types_pb2.SessionRef:
        return types_pb2.SessionRef(tenant_id=self.tenant_id, user_id=self.user_id, session_id=session_id)

    async def state(self, key: str, text: str, **more: Any) -> Any:
        """Record a fact; its result. `read` is when it was read at its source."""
        read: datetime = more.pop("read", self.gateway.now)
        fields: dict[str, Any] = {"origin": types_pb2.FACT_ORIGIN_STATED, "source": "chat", "writer": "agent"}
        fields |= {
            "key": key,
            "statement" if key == "wish" else "text": text,
            "read_time": stamp(read),
        } | more
        offered = fact_pb2.Fact(**fields)
        request = fact_pb2.RecordFactsRequest(user=self.user, facts=[offered])
        (result,) = (await self.gateway.call("RecordFacts", request)).results
        return result

    async def remember(self, session_id: str, *texts: str, at: datetime | None = None, **more: Any) -> Any:
        """Archive a past session of the user's words."""
        start = stamp(at or self.gateway.now)
        turns = [said(text, f"{session_id}-{place}", start) for place, text in enumerate(texts)]
        past = history_pb2.PastSession(session_id=session_id, start_time=start, turns=turns)
        return await self.gateway.call(
            "ImportHistory", history_pb2.ImportHistoryRequest(user=self.user, sessions=[past], **more)
        )

    def request(self, text: str, session_id: str = "s1", turn_id: str = "", **more: Any) -> Any:
        """A question; `limit` is the most tokens of the prompt."""
        limit = more.pop("limit", None)
        self.asked += 1
        turn = said(text, turn_id or f"t{self.asked}")
        request = context_pb2.AssembleContextRequest(session=self.session(session_id), turn=turn, **more)
        if limit is not None:
            request.budget.max_input_tokens = limit
        return request

    async def ask(self, text: str, session_id: str = "s1", turn_id: str = "", **more: Any) -> Any:
        """The answer to a question."""
        return await self.gateway.call("AssembleContext", self.request(text, session_id, turn_id, **more))

    async def record(self, *turns: types_pb2.Turn, session_id: str = "s1", **more: Any) -> Any:
        request = session_pb2.RecordTurnsRequest(session=self.session(session_id), turns=turns, **more)
        return await self.gateway.call("RecordTurns", request)

    async def trace(self, answer: Any) -> Any:
        return (await self.gateway.call("GetTrace", trace_pb2.GetTraceRequest(name=answer.trace))).trace

    async def fates(self, answer: Any) -> dict[str, str]:
        """What became of each candidate, by item: its reason without the prefix."""
        return {
            c.item_id: prompt_pb2.Reason.Name(c.reason).removeprefix("REASON_")
            for c in (await self.trace(answer)).candidates
        }

    async def replays(self, answer: Any) -> bool:
        """Whether a replay gives the same prompt."""
        replay = await self.gateway.call("ReplayTrace", trace_pb2.ReplayTraceRequest(name=answer.trace))
        return bool(replay.identical)


async def use_policy(gateway: Gateway, yaml: str = DESK, tenant_id: str = TENANT) -> str:
    """Make a policy the tenant's default; its revision's name."""
    return await gateway.use(
        policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id=tenant_id, yaml=yaml.encode())
    )


def stamp(instant: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def said(text: str, turn_id: str, at: Timestamp | None = None) -> types_pb2.Turn:
    """What a user said."""
    contents = [types_pb2.Content(text=text)]
    return types_pb2.Turn(turn_id=turn_id, role=types_pb2.ROLE_USER, contents=contents, occur_time=at)


def called(turn_id: str, *call_ids: str, arguments: str = "{}", tool: str = "lookup") -> types_pb2.Turn:
    """The model's calls."""
    calls = [
        types_pb2.Content(tool_call=types_pb2.ToolCall(call_id=c, tool_name=tool, arguments_json=arguments))
        for c in call_ids
    ]
    return types_pb2.Turn(turn_id=turn_id, role=types_pb2.ROLE_ASSISTANT, contents=calls)


def returned(turn_id: str, *call_ids: str, result: str = '"ok"', tool: str = "lookup") -> types_pb2.Turn:
    """The tools' results."""
    results = [
        types_pb2.Content(tool_result=types_pb2.ToolResult(call_id=c, tool_name=tool, result_json=result))
        for c in call_ids
    ]
    return types_pb2.Turn(turn_id=turn_id, role=types_pb2.ROLE_TOOL, contents=results)


def section(answer: Any, kind: types_pb2.SectionKind.ValueType) -> str:
    """The text of a section of the prompt; empty where it is not there."""
    return "".join(
        part.content.text for m in answer.prompt.messages for part in m.parts if part.section == kind
    )


def facts(answer: Any) -> str:
    return section(answer, types_pb2.SECTION_KIND_FACTS)


def history(answer: Any) -> str:
    return section(answer, types_pb2.SECTION_KIND_HISTORY)


def slots(answer: Any) -> str:
    return section(answer, types_pb2.SECTION_KIND_SESSION)


def prompt_text(answer: Any) -> str:
    """All texts of the prompt."""
    return "".join(part.content.text for m in answer.prompt.messages for part in m.parts)
