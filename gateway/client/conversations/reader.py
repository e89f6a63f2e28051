"""Reads a whole conversation and checks it before anything is sent. Pure but for the policy's file that it names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

from gateway.client.conversations.errors import LineError
from gateway.client.conversations.fields import Fields
from gateway.client.conversations.json_lines import json_lines
from gateway.client.conversations.records import Conversation, Header, LiveSession, TurnStep, Wait
from gateway.client.conversations.settings import read_fact, read_header, read_prefix
from gateway.client.conversations.turns import read_material, read_turn
from muniment.v1.context_pb2 import Material
from muniment.v1.fact_pb2 import Fact
from muniment.v1.history_pb2 import PastSession
from muniment.v1.prefix_pb2 import RegisterPrefixRevisionRequest
from muniment.v1.types_pb2 import Role, Turn

MAX_WAIT = timedelta(seconds=60)
_TURN_STEP = timedelta(minutes=1)
_ARCHIVE_TYPES = ("conversation", "session", "turn")
_TYPES = ("conversation", "prefix", "fact", "session", "turn", "material", "wait")


def read_conversation(path: Path, now: datetime) -> Conversation:
    """The conversation in a file, its offsets counted from `now`. Raises `LineError`, and OSError for the file."""
    return parse_conversation(path.read_bytes(), str(path), path.parent, now)


def parse_conversation(data: bytes, file: str, folder: Path, now: datetime) -> Conversation:
    """The conversation in `data`; `file` is its name for messages, `folder` where the policy's path begins."""
    reader = _Reader(file, folder, now)
    for number, values in json_lines(data, file):
        reader.line(number, values)
    return reader.finish()


def read_archive(path: Path, now: datetime) -> tuple[PastSession, ...]:
    """Past sessions alone: lines of type `session` and `turn`, and perhaps one of type `conversation` before them.

    Errors as for a conversation.
    """
    reader = _Reader(str(path), path.parent, now)
    for number, values in json_lines(path.read_bytes(), str(path)):
        reader.archive_line(number, values)
    return reader.finish_archive()


@dataclass(slots=True)
class _Session:
    session_id: str
    start: datetime
    line: int
    steps: list[TurnStep | Wait] = field(default_factory=list)
    call_ids: set[str] = field(default_factory=set)
    turn_ids: set[str] = field(default_factory=set)
    only_live: str = ""
    """What of it a past session could not have, for the message."""

    @property
    def turns(self) -> list[Turn]:
        return [step.turn for step in self.steps if isinstance(step, TurnStep)]


class _Reader:
    def __init__(self, file: str, folder: Path, now: datetime) -> None:
        self._file, self._folder, self._now = file, folder, now
        self._line = 0
        self._header: Header | None = None
        self._prefixes: list[RegisterPrefixRevisionRequest] = []
        self._facts: list[Fact] = []
        self._sessions: list[_Session] = []
        self._material: list[Material] = []

    def line(self, number: int, values: dict[str, object]) -> None:
        """Take in one line."""
        self._line = number
        fields = Fields(values, self._file, number, self._now)
        kind = fields.choice("type", _TYPES)
        if (kind == "conversation") != (self._header is None):
            fields.refuse("type", "must be `conversation` on the first line and nowhere else")
        read = {
            "conversation": self._conversation,
            "prefix": self._prefix,
            "fact": self._fact,
            "session": self._session,
            "turn": self._turn,
            "material": self._bring,
            "wait": self._wait,
        }[kind]
        read(fields)
        fields.finish()

    def archive_line(self, number: int, values: dict[str, object]) -> None:
        """Take in one line of an archive."""
        self._line = number
        fields = Fields(values, self._file, number, self._now)
        kind = fields.choice("type", _ARCHIVE_TYPES)
        if kind == "conversation":
            self._conversation(fields)
        elif kind == "session":
            self._session(fields)
        else:
            self._turn(fields)
        fields.finish()

    def finish_archive(self) -> tuple[PastSession, ...]:
        """All sessions of an archive."""
        self._close_session(is_last=False)
        if not self._sessions:
            self._refuse(self._line or 1, "is the last and no session began: add a line of type `session`")
        return tuple(_past(session) for session in self._sessions)

    def finish(self) -> Conversation:
        """The whole; refuses what can only be seen at the end."""
        if self._header is None:
            self._refuse(1, "is empty: the first line is the one of type `conversation`")
        if not self._sessions:
            self._refuse(self._line, "is the last and no session began: add a line of type `session`")
        self._close_session(is_last=True)
        *past, live = self._sessions
        if not any(turn.role in (Role.ROLE_USER, Role.ROLE_TOOL) for turn in live.turns):
            self._refuse(
                live.line, "begins the last session, which asks nothing: give it a turn of role USER"
            )
        return Conversation(
            self._file, self._now, self._header, tuple(self._prefixes), tuple(self._facts),
            tuple(_past(session) for session in past), LiveSession(live.session_id, tuple(live.steps)),
        )  # fmt: skip

    def _conversation(self, fields: Fields) -> None:
        self._header = read_header(fields, self._folder)

    def _prefix(self, fields: Fields) -> None:
        assert self._header is not None
        self._prefixes.append(read_prefix(fields, self._header.tenant))

    def _fact(self, fields: Fields) -> None:
        self._facts.append(read_fact(fields, self._now))

    def _session(self, fields: Fields) -> None:
        session_id, start = fields.text("session_id"), fields.instant("start")
        if any(known.session_id == session_id for known in self._sessions):
            fields.refuse("session_id", f"{session_id!r} is there already: give each session its own")
        if start > self._now:
            fields.refuse("start", "is in the future: write `now` for the session that is played")
        self._close_session(is_last=False)
        self._sessions.append(_Session(session_id, start, self._line))

    def _turn(self, fields: Fields) -> None:
        session = self._current(fields)
        count = len(session.turns)
        turn = read_turn(fields, f"{session.session_id}-{count + 1}")
        if turn.turn_id in session.turn_ids:
            fields.refuse("turn_id", f"{turn.turn_id!r} is in this session already: give each turn its own")
        if turn.HasField("occur_time") and turn.occur_time.ToDatetime(UTC) > self._now:
            fields.refuse("at", "is in the future: write an earlier instant")
        session.turn_ids.add(turn.turn_id)
        _match_calls(session, turn, fields)
        session.steps.append(TurnStep(turn, self._take_material(turn)))

    def _bring(self, fields: Fields) -> None:
        self._current(fields).only_live = "material"
        self._material.append(read_material(fields, self._now))

    def _wait(self, fields: Fields) -> None:
        session, until = self._current(fields), fields.instant("until")
        if not self._now < until <= self._now + MAX_WAIT:
            fields.refuse("until", f"must be ahead by {MAX_WAIT.seconds} seconds at most: write such as +3s")
        session.only_live = "a wait"
        session.steps.append(Wait(until))

    def _current(self, fields: Fields) -> _Session:
        if not self._sessions:
            fields.refuse("type", "stands before the first session: begin one with a line of type `session`")
        return self._sessions[-1]

    def _take_material(self, turn: Turn) -> tuple[Material, ...]:
        if turn.role != Role.ROLE_USER:
            return ()
        material, self._material = tuple(self._material), []
        return material

    def _close_session(self, is_last: bool) -> None:
        """Check the session that ends here: it is a past one unless it is the last."""
        if not self._sessions:
            return
        session = self._sessions[-1]
        if self._material:
            self._refuse(self._line, "brings material that no turn of role USER follows")
        if not session.turns:
            self._refuse(session.line, "begins a session without turns: write some, or drop it")
        if is_last:
            return
        if session.only_live:
            self._refuse(
                session.line, f"begins a past session with {session.only_live}: only the last is played"
            )
        if session.start >= self._now:
            self._refuse(
                session.line, "begins a session `now` that is not the last: give it a date in the past"
            )

    def _refuse(self, line: int, reason: str) -> NoReturn:
        raise LineError(self._file, line, "", reason)


def _match_calls(session: _Session, turn: Turn, fields: Fields) -> None:
    """Results answer calls of the same session."""
    for index, content in enumerate(turn.contents):
        if content.HasField("tool_call"):
            session.call_ids.add(content.tool_call.call_id)
        elif content.HasField("tool_result") and content.tool_result.call_id not in session.call_ids:
            fields.refuse(
                f"tool_results[{index}].call_id",
                f"{content.tool_result.call_id!r} answers no call of this session"
                f"{_listed(sorted(session.call_ids))}",
            )


def _listed(call_ids: Sequence[str]) -> str:
    return f": there are {', '.join(call_ids)}" if call_ids else ": write the call before its result"


def _past(session: _Session) -> PastSession:
    """Its turns without a date follow each other by a minute; those of the live session happen when they are played."""
    past = PastSession(session_id=session.session_id, turns=session.turns)
    for index, turn in enumerate(past.turns):
        if not turn.HasField("occur_time"):
            turn.occur_time.FromDatetime(session.start + index * _TURN_STEP)
    past.start_time.FromDatetime(session.start)
    return past
