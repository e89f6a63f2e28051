"""types.proto: users, sessions, subjects, turns and slots. `…_of` reads a message, `…_to` writes one."""

from collections.abc import Iterable
from datetime import datetime

from assemblers.records import (
    Certainty,
    Content,
    Filter,
    Focus,
    RecentQuestion,
    SessionRef,
    Slots,
    Subject,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Turn,
    UserRef,
)
from gateway.convert.canonical import canonical, parse
from gateway.convert.enums import CERTAINTY_OF, CERTAINTY_TO, ROLE_OF, ROLE_TO
from gateway.convert.instants import instant_of, instant_to
from gateway.errors import InvalidArgument, Reason
from muniment.v1 import types_pb2

MAX_TURN_BYTES = 64 << 10
SET_BY_CALLER = "caller"


def user_of(message: types_pb2.UserRef) -> UserRef:
    """The user."""
    return UserRef(message.tenant_id, message.user_id)


def user_to(user: UserRef) -> types_pb2.UserRef:
    """The message of a user."""
    return types_pb2.UserRef(tenant_id=user.tenant_id, user_id=user.user_id)


def session_of(message: types_pb2.SessionRef) -> SessionRef:
    """The session."""
    return SessionRef(message.tenant_id, message.user_id, message.session_id)


def session_to(session: SessionRef) -> types_pb2.SessionRef:
    """The message of a session."""
    return types_pb2.SessionRef(
        tenant_id=session.tenant_id, user_id=session.user_id, session_id=session.session_id
    )


def subject_of(message: types_pb2.Subject) -> Subject:
    """The subject; nothing set is the user."""
    match message.WhichOneof("subject"):
        case "account":
            return Subject("account", message.account.id)
        case "entity":
            return Subject(message.entity.type, message.entity.id)
        case _:
            return Subject()


def subject_to(subject: Subject) -> types_pb2.Subject | None:
    """The message of a subject; None, which is unset, for the user."""
    if subject.kind == "user":
        return None
    if subject.kind == "account":
        return types_pb2.Subject(account=types_pb2.Subject.Account(id=subject.id))
    return types_pb2.Subject(entity=types_pb2.Subject.Entity(type=subject.kind, id=subject.id))


def turn_of(message: types_pb2.Turn, default_time: datetime, field: str = "turn") -> Turn:
    """The turn, its JSON made canonical. `default_time` is for one without `occur_time`, `field` for errors.

    Raises InvalidArgument for more than 64 KiB of contents, and for JSON without a canonical form.
    """
    if message.ByteSize() > MAX_TURN_BYTES:
        _check_size(message, field)
    contents = tuple(
        [
            Text(c.text) if c.HasField("text") else content_of(c, f"{field}.contents[{i}]")
            for i, c in enumerate(message.contents)
        ]
    )
    occurred = instant_of(message.occur_time) if message.HasField("occur_time") else default_time
    return Turn(message.turn_id, ROLE_OF[message.role], contents, occurred, message.speaker)


def _check_size(message: types_pb2.Turn, field: str) -> None:
    size = sum(_size(content) for content in message.contents)
    if size > MAX_TURN_BYTES:
        raise InvalidArgument.of(
            field,
            f"holds {size} bytes of contents and a turn may hold {MAX_TURN_BYTES}: shorten it or send a part",
            Reason.TOO_LARGE,
            limit_bytes=str(MAX_TURN_BYTES),
            actual_bytes=str(size),
        )


def turn_to(turn: Turn) -> types_pb2.Turn:
    """The message of a turn."""
    return types_pb2.Turn(
        turn_id=turn.turn_id,
        role=ROLE_TO[turn.role],
        contents=[content_to(content) for content in turn.contents],
        occur_time=instant_to(turn.occur_time),
        speaker=turn.speaker,
    )


def content_of(message: types_pb2.Content, field: str) -> Content:
    """The content, its JSON made canonical. Raises InvalidArgument at `field`."""
    match message.WhichOneof("content"):
        case "tool_call":
            call = message.tool_call
            arguments = parse(f"{field}.tool_call.arguments_json", call.arguments_json or "{}")
            return ToolCall(call.call_id, call.tool_name, canonical(arguments))
        case "tool_result":
            result = message.tool_result
            value = parse(f"{field}.tool_result.result_json", result.result_json)
            return ToolResult(result.call_id, result.tool_name, result.is_error, canonical(value))
        case _:
            return Text(message.text)


def content_to(content: Content) -> types_pb2.Content:
    """The message of a content."""
    if isinstance(content, Text):
        return types_pb2.Content(text=content.text)
    if isinstance(content, ToolCall):
        return types_pb2.Content(
            tool_call=types_pb2.ToolCall(
                call_id=content.call_id, tool_name=content.tool_name, arguments_json=content.arguments_json
            )
        )
    return types_pb2.Content(
        tool_result=types_pb2.ToolResult(
            call_id=content.call_id,
            tool_name=content.tool_name,
            is_error=content.is_error,
            result_json=content.result_json,
        )
    )


def _size(message: types_pb2.Content) -> int:
    """The bytes of what is said, without its ids."""
    return sum(
        len(text.encode())
        for text in (message.text, message.tool_call.arguments_json, message.tool_result.result_json)
    )


def slots_of(message: types_pb2.Slots) -> Slots:
    """The slots that a caller sets: set by `caller`, in no turn, CONFIRMED unless they say otherwise."""
    focus = message.focus
    filters = (Filter(f.key, f.value, _certainty(f.certainty), SET_BY_CALLER, "") for f in message.filters)
    return Slots(
        focus=Focus(focus.type, focus.id, focus.label, _certainty(focus.certainty), SET_BY_CALLER, "")
        if message.HasField("focus")
        else None,
        filters=tuple(sorted(filters, key=lambda f: f.key)),
        answer_format=message.answer_format,
    )


def slots_to(slots: Slots) -> types_pb2.Slots:
    """The message of slots."""
    return types_pb2.Slots(
        focus=None if slots.focus is None else _focus_to(slots.focus),
        filters=[_filter_to(f) for f in slots.filters],
        answer_format=slots.answer_format,
        recent_questions=[_question_to(q) for q in slots.recent_questions],
    )


def _certainty(number: types_pb2.Certainty.ValueType) -> Certainty:
    return CERTAINTY_OF.get(number, Certainty.CONFIRMED)


def _focus_to(focus: Focus) -> types_pb2.Focus:
    return types_pb2.Focus(
        type=focus.type,
        id=focus.id,
        label=focus.label,
        certainty=CERTAINTY_TO[focus.certainty],
        set_by=focus.set_by,
        turn_id=focus.turn_id,
    )


def _filter_to(item: Filter) -> types_pb2.Filter:
    return types_pb2.Filter(
        key=item.key,
        value=item.value,
        certainty=CERTAINTY_TO[item.certainty],
        set_by=item.set_by,
        turn_id=item.turn_id,
    )


def _question_to(question: RecentQuestion) -> types_pb2.RecentQuestion:
    return types_pb2.RecentQuestion(turn_id=question.turn_id, text=question.text)


def tools_to(tools: Iterable[ToolDefinition]) -> list[types_pb2.ToolDefinition]:
    """The messages of tool definitions."""
    return [
        types_pb2.ToolDefinition(name=tool.name, definition_json=tool.definition_json.encode())
        for tool in tools
    ]
