"""Cuts past turns into excerpts with their index terms, behind what the archive holds of their session already."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from assemblers.excerpts import cut_excerpts, index_text
from assemblers.policy.model import ArchiveRules
from assemblers.ranking import analyze
from assemblers.records import Role, Turn
from storage.ports import ArchivedSession, ArchiveSnapshot, ExcerptDraft

_SPEAKERS = {Role.USER: "User", Role.ASSISTANT: "Assistant"}


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session of the past: its turns oldest first."""

    session_id: str
    start_time: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class KnownSession:
    """What the archive holds of a session: excerpts by turn id, and the first free position."""

    excerpts_by_turn: Mapping[str, int] = field(default_factory=dict)
    next_position: int = 0


@dataclass(frozen=True, slots=True)
class CutSession:
    """A session ready to be archived. `skipped` counts turns that the policy keeps out, `known` excerpts of turns that
    are archived already."""

    archived: ArchivedSession
    skipped: int
    known: int


def known_sessions(snapshot: ArchiveSnapshot, session_ids: Collection[str]) -> dict[str, KnownSession]:
    """What the archive holds of those sessions."""
    turns: dict[str, Counter[str]] = {}
    positions: dict[str, int] = {}
    for excerpt in snapshot.excerpts:
        if excerpt.session_id in session_ids:
            turns.setdefault(excerpt.session_id, Counter())[excerpt.turn_id] += 1
            position = max(positions.get(excerpt.session_id, 0), excerpt.position + 1)
            positions[excerpt.session_id] = position
    return {session_id: KnownSession(counts, positions[session_id]) for session_id, counts in turns.items()}


async def cut_sessions(
    sessions: Iterable[PastSession], rules: ArchiveRules, known: Mapping[str, KnownSession]
) -> list[CutSession]:
    """All sessions cut, one after the other on a thread: analysing megabytes must not hold up other calls."""
    nothing = KnownSession()
    return [
        await asyncio.to_thread(cut_session, session, rules, known.get(session.session_id, nothing))
        for session in sessions
    ]


def cut_session(session: PastSession, rules: ArchiveRules, known: KnownSession) -> CutSession:
    """One session cut. Turns that are archived already are left as they are, so that an import can be continued."""
    drafts: list[ExcerptDraft] = []
    skipped = already = 0
    for turn in session.turns:
        if not _is_kept(turn.role, rules):
            skipped += 1
        elif turn.turn_id in known.excerpts_by_turn:
            already += known.excerpts_by_turn[turn.turn_id]
        else:
            drafts += _drafts(turn, rules, known.next_position + len(drafts))
    archived = ArchivedSession(session.session_id, session.start_time, tuple(drafts))
    return CutSession(archived, skipped, already)


def index_name(role: Role, speaker: str) -> str:
    """Who speaks, as an excerpt is indexed."""
    return speaker or _SPEAKERS[role]


def _is_kept(role: Role, rules: ArchiveRules) -> bool:
    return role is Role.USER or (role is Role.ASSISTANT and rules.include_assistant)


def _drafts(turn: Turn, rules: ArchiveRules, position: int) -> list[ExcerptDraft]:
    speaker, day = index_name(turn.role, turn.speaker), turn.occur_time.astimezone(UTC).date()
    return [
        ExcerptDraft(
            position=position + index,
            turn_id=turn.turn_id,
            role=turn.role,
            speaker=turn.speaker,
            text=text,
            occur_time=turn.occur_time,
            terms=dict(Counter(analyze(index_text(speaker, day, text)))),
        )
        for index, text in enumerate(cut_excerpts(turn.text, rules.excerpt_characters))
    ]
