"""Reads LoCoMo (snap-research/locomo, CC BY-NC 4.0, not part of this repository), once it is known to be the same."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

DIALOGUES: Final = Path("locomo/locomo10.json")
CORRECTIONS: Final = Path("locomo/audit_errors.json")
_SHA256: Final = {
    DIALOGUES: "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
    CORRECTIONS: "f298ef46263fada20688a1d672be37d4f488c6da3b19343eea55ae5c1b5fe55e",
}
_DATE: Final = "%I:%M %p on %d %B, %Y"
"""Such as "1:56 pm on 8 May, 2023"."""
_TURN: Final = re.compile(r"D(\d+):(\d+)")
_SESSION: Final = re.compile(r"session_(\d+)")

# As `json` gives it; the checksum says that it has the form that is read below.
Json = Any


class WrongDataError(RuntimeError):
    """A file is not there or is another than was measured before."""


@dataclass(frozen=True, slots=True)
class DatedTurn:
    """What a speaker said; `turn_id` is the data's own `dia_id`."""

    turn_id: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class DatedSession:
    """A session with its date, taken as UTC."""

    session_id: str
    start_time: datetime
    turns: Sequence[DatedTurn]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the turns that answer it, as published and as corrected by an audit."""

    question_id: str
    text: str
    category: int
    evidence: frozenset[str]
    corrected: frozenset[str]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One of the ten conversations: a user of their own."""

    user_id: str
    sessions: Sequence[DatedSession]
    questions: Sequence[Question]


def read_dialogues(folder: Path) -> list[Dialogue]:
    """All ten. Raises `WrongDataError`."""
    corrections = {entry["question_id"]: entry["correct_evidence"] for entry in _load(folder, CORRECTIONS)}
    return [_dialogue(number, entry, corrections) for number, entry in enumerate(_load(folder, DIALOGUES))]


def _load(folder: Path, name: Path) -> Json:
    path = folder / name
    if not path.is_file():
        raise WrongDataError(f"{path} is not there: name the folder that holds {name}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256[name]:
        raise WrongDataError(f"{path} is not the file that the bars were measured on: its SHA-256 differs")
    return json.loads(content)


def _dialogue(number: int, entry: Json, corrections: Mapping[str, Sequence[str]]) -> Dialogue:
    sessions = _sessions(entry["conversation"])
    known = {turn.turn_id for session in sessions for turn in session.turns}
    questions = [
        _question(f"locomo_{number}_qa{at}", asked, known, corrections)
        for at, asked in enumerate(entry["qa"])
    ]
    return Dialogue(entry["sample_id"], sessions, questions)


def _sessions(conversation: Json) -> list[DatedSession]:
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    return [_session(number, conversation) for number in numbers if conversation[f"session_{number}"]]


def _session(number: int, conversation: Json) -> DatedSession:
    started = datetime.strptime(conversation[f"session_{number}_date_time"], _DATE).replace(tzinfo=UTC)
    turns = [DatedTurn(t["dia_id"], t["speaker"], t["text"]) for t in conversation[f"session_{number}"]]
    return DatedSession(f"session_{number}", started, turns)


def _question(
    question_id: str, asked: Json, known: set[str], corrections: Mapping[str, Sequence[str]]
) -> Question:
    evidence = _turn_ids(asked.get("evidence", ()), known)
    # A correction that names no turn of the conversation corrects nothing that can be measured.
    corrected = _turn_ids(corrections.get(question_id, ()), known) or evidence
    return Question(question_id, asked["question"], asked["category"], evidence, corrected)


def _turn_ids(references: Sequence[str], known: set[str]) -> frozenset[str]:
    """The turns that are named; some entries name several in one text, or write `D30:05` for `D30:5`."""
    named = (match for reference in references for match in _TURN.findall(reference))
    return frozenset(f"D{int(session)}:{int(turn)}" for session, turn in named) & known
