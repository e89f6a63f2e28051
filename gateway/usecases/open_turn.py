"""The turn being answered: a question, or the newest results of a tool loop with the question they serve."""

from collections.abc import Iterable
from datetime import datetime

from assemblers.assembly import TurnInput
from assemblers.records import Role, SessionRef, Text, ToolCall, ToolResult, Turn
from assemblers.trace.content_codec import decode_content
from gateway.errors import FailedPrecondition, InvalidArgument, Reason
from gateway.usecases.turn_rules import has_visible
from storage.ports import TraceStore, TranscriptStore


class OpenTurns:
    """Finds what belongs to the turn being answered."""

    def __init__(self, transcripts: TranscriptStore, traces: TraceStore) -> None:
        self._transcripts, self._traces = transcripts, traces

    async def loop_for(self, session: SessionRef, turn: Turn, now: datetime) -> TurnInput:
        """A TOOL turn with its question. Raises FailedPrecondition with the remedy."""
        question, followed = await self._loop(session, turn, now)
        check_pairs(followed)
        return TurnInput(turn, question.text, question.turn_id, question.occur_time, followed)

    async def _loop(self, session: SessionRef, turn: Turn, now: datetime) -> tuple[Turn, tuple[Turn, ...]]:
        known = await self._answered(session)
        recorded = await self._transcripts.since_last_question(session, now)
        turns = merge(known, recorded, turn)
        start = max((i for i, t in enumerate(turns) if t.role is Role.USER), default=None)
        if start is None:
            raise FailedPrecondition(
                Reason.TOOL_CALL_UNKNOWN,
                "turn: a TOOL turn needs the question it serves: assemble or record the USER turn first",
                {"field": "turn", "call_id": ",".join(_results(turn))},
            )
        return turns[start], turns[start + 1 :]

    async def _answered(self, session: SessionRef) -> tuple[Turn, ...]:
        """The question and open turns of the session's latest prompt, which a policy may keep nowhere else."""
        latest = await self._traces.latest(session)
        if latest is None or latest.content is None:
            return ()
        answered = decode_content(latest.content).turn
        return (question_turn(answered), *answered.open_turns)


def question_of(turn: Turn) -> TurnInput | None:
    """A USER turn as the question that it is; None for a TOOL's, which has to be found (`OpenTurns.loop_for`)."""
    return TurnInput(turn, turn.text, turn.turn_id, turn.occur_time) if turn.role is Role.USER else None


def question_turn(answered: TurnInput) -> Turn:
    """The USER turn that a turn input answers."""
    if answered.turn.turn_id == answered.question_turn_id:
        return answered.turn
    return Turn(answered.question_turn_id, Role.USER, (Text(answered.question),), answered.question_time)


def merge(known: tuple[Turn, ...], recorded: tuple[Turn, ...], newest: Turn) -> tuple[Turn, ...]:
    """All turns once, the known ones first, the newest last."""
    turns: dict[str, Turn] = {}
    for turn in (*known, *recorded):
        if turn.turn_id != newest.turn_id:
            turns.setdefault(turn.turn_id, turn)
    return (*turns.values(), newest)


def check_pairs(turns: tuple[Turn, ...]) -> None:
    """Every result of the newest turn answers a call before it, once, and no call stays unanswered: providers refuse
    anything else. A result among the recorded turns that came too late for its question is left out by the core."""
    *before, newest = turns
    open_calls = _open_calls(before)
    for index, content in enumerate(newest.contents):
        if isinstance(content, ToolResult) and content.call_id not in open_calls:
            raise _no_open_call(f"turn.contents[{index}].tool_result.call_id", content.call_id)
        if isinstance(content, ToolResult):
            open_calls.remove(content.call_id)
    if open_calls:
        missing = ",".join(sorted(open_calls))
        raise FailedPrecondition(
            Reason.TOOL_RESULTS_MISSING,
            f"turn: the calls {missing} have no result yet: send all results of a model's answer in one TOOL turn",
            {"call_ids": missing},
        )


def _open_calls(turns: Iterable[Turn]) -> set[str]:
    """The calls of recorded turns that have no result among them."""
    calls: set[str] = set()
    for turn in turns:
        calls.update(c.call_id for c in turn.contents if isinstance(c, ToolCall))
        calls.difference_update(_results(turn))
    return calls


def _results(turn: Turn) -> list[str]:
    return [content.call_id for content in turn.contents if isinstance(content, ToolResult)]


def _no_open_call(field: str, call_id: str) -> FailedPrecondition:
    return FailedPrecondition(
        Reason.TOOL_CALL_UNKNOWN,
        f"{field}: no call {call_id!r} waits for a result: record the assistant's turn with the call before, and send "
        "each result once",
        {"field": field, "call_id": call_id},
    )


def check_newest(turn: Turn) -> None:
    """The newest input is a question of the user or a tool's results. Raises InvalidArgument."""
    if turn.role not in (Role.USER, Role.TOOL):
        raise InvalidArgument.of(
            "turn.role",
            f"{turn.role} is no newest input: send the USER's question or a TOOL's results, record the model's answers "
            "with RecordTurns, and register fixed instructions as a prefix",
        )
    if turn.role is Role.USER:
        texts = [c.text for c in turn.contents if isinstance(c, Text)]
        if not any(map(has_visible, texts)):
            raise InvalidArgument.of("turn.contents", "the question is blank: send the user's text")
        if len(texts) < len(turn.contents):
            raise InvalidArgument.of("turn.contents", "a USER turn holds texts only")
    elif not turn.contents or not all(isinstance(c, ToolResult) for c in turn.contents):
        raise InvalidArgument.of(
            "turn.contents", "a TOOL turn holds tool results, one at least, and nothing else"
        )
