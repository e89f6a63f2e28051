"""A user's archived excerpts as rendered, counted lines: each is rendered when a question first brings it up.

The lines of an excerpt never change, so a `PreparedArchive` serves every call until the archive grows. It fills in
place; what it answers never depends on what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

import numpy as np
import numpy.typing as npt

from assemblers.assembly import Bytes1, Int32s, Source, SourceKind
from assemblers.records import Excerpt, Role
from assemblers.sections.pieces import Piece, piece
from assemblers.text import age, hidden_characters, inline, inline_counted, local_date
from assemblers.tokens import TokenCounter

Places = npt.NDArray[np.intp]
"""Indexes into an archive, of the type that numpy indexes with: any other is converted at every use."""

_UNRENDERED = -1
_NO_PIECE = Piece("", 0, _UNRENDERED, "", Source(SourceKind.EXCERPT, ""))
"""Stands where a line is not rendered yet."""
_MAX_DAYS = 4
"""Dates of so many (day, zone) pairs are kept: midnight comes at another instant in each zone."""

_ROLE_NAMES = {
    Role.ASSISTANT: "Assistant",
    Role.TOOL: "Tool",
    Role.SYSTEM: "System",
    Role.DEVELOPER: "Developer",
}


class SessionDates:
    """The date lines of an archive's sessions as a reader sees them on one day in one zone."""

    __slots__ = ("costs", "missing", "pieces")

    def __init__(self, sessions: int) -> None:
        self.missing = sessions
        self.pieces = [_NO_PIECE] * sessions
        self.costs = [_UNRENDERED] * sessions


class PreparedArchive:
    """Excerpts by index (the place in what was given), and their sessions, numbered from 0 in the order of time.

    `numbers`, `sessions`, `assistant` (1 for the assistant's words) and `tokens` have an entry for each excerpt;
    `order` gives its place in time, None where the index is it. `tokens`, `pieces` (the lines) and `twins` (for each
    excerpt that reads like others: all of those) are there for what was passed to `render`; `least` are the tokens of
    the shortest of these lines, 0 before there is one, and `hidden` how many characters were left out of them, by item
    id, where any were. `counter_id` is the vocabulary.
    """

    __slots__ = (
        "_by_line", "_by_text", "_counter", "_dates", "_excerpts", "_missing", "_session_times", "assistant",
        "counter_id", "has_assistant", "hidden", "least", "numbers", "order", "pieces", "session_ids", "sessions",
        "tokens", "twins",
    )  # fmt: skip

    def __init__(self, excerpts: Sequence[Excerpt], counter: TokenCounter) -> None:
        self._excerpts = tuple(excerpts)
        self._counter = counter
        self.counter_id = counter.id
        self._dates: dict[tuple[int, tzinfo], SessionDates] = {}
        self._by_text: dict[str, list[int]] = {}
        self._by_line: dict[str, list[int]] = {}
        count = len(self._excerpts)
        self.numbers: Int32s = np.fromiter((e.no for e in self._excerpts), np.int32, count)
        self.assistant: Bytes1 = np.fromiter(
            (e.role is Role.ASSISTANT for e in self._excerpts), np.uint8, count
        )
        self.has_assistant = bool(self.assistant.any())
        self.twins: dict[int, list[int]] = {}
        self.tokens: Int32s = np.full(count, _UNRENDERED, np.int32)
        self.pieces = [_NO_PIECE] * count
        self._missing = count
        self.least = 0
        self.hidden: dict[str, int] = {}
        self.order = _order(self._excerpts)
        self._number_sessions()

    def __len__(self) -> int:
        return len(self._excerpts)

    def render(self, units: Places) -> Int32s:
        """Render and count those of the excerpts that are not yet; gives the tokens of all of `units`."""
        tokens = self.tokens[units]
        if self._missing and np.count_nonzero(fresh := tokens == _UNRENDERED):
            for unit in units[fresh].tolist():
                self._render(unit)
            tokens = self.tokens[units]
        return tokens

    def reading_like(self, texts: frozenset[str]) -> set[int]:
        """The rendered excerpts whose text, as it is shown, is one of `texts`."""
        if self._by_text.keys().isdisjoint(texts):
            return set()
        return {unit for text in texts for unit in self._by_text.get(text, ())}

    def dates(self, sessions: Iterable[int], now: datetime, zone: tzinfo) -> SessionDates:
        """The date lines of the `sessions`, at least, as they read on the day of `now` in `zone`."""
        day = now.astimezone(zone).toordinal(), zone
        dates = self._dates.get(day)
        if dates is None:
            if len(self._dates) >= _MAX_DAYS:
                self._dates.clear()
            dates = self._dates[day] = SessionDates(len(self._session_times))
        if dates.missing:
            for session in set(sessions):
                if dates.costs[session] == _UNRENDERED:
                    self._date(dates, session, now, zone)
        return dates

    def _date(self, dates: SessionDates, session: int, now: datetime, zone: tzinfo) -> None:
        session_id, time = self.session_ids[session], self._session_times[session]
        source = Source(SourceKind.ARCHIVED_SESSION, session_id, time)
        line = piece(self._counter, date_line(time, now, zone), f"archived-session/{session_id}", source)
        dates.pieces[session], dates.costs[session] = line, line.tokens
        dates.missing -= 1

    def _number_sessions(self) -> None:
        known = sorted({(e.session_time, e.session_no, e.session_id) for e in self._excerpts})
        place = {session_no: at for at, (_, session_no, _) in enumerate(known)}
        numbers = (place[excerpt.session_no] for excerpt in self._excerpts)
        self.sessions: Int32s = np.fromiter(numbers, np.int32, len(self._excerpts))
        self.session_ids = tuple(session_id for _, _, session_id in known)
        self._session_times = tuple(time for time, _, _ in known)

    def _render(self, unit: int) -> None:
        excerpt = self._excerpts[unit]
        text, hidden = inline_counted(excerpt.text)
        hidden += hidden_characters(excerpt.speaker)
        source = Source(SourceKind.EXCERPT, str(excerpt.no), excerpt.occur_time)
        line = piece(self._counter, f"- {speaker_name(excerpt)}: {text}\n", f"excerpt/{excerpt.no}", source)
        if hidden:
            self.hidden[line.item_id] = hidden
        self._by_text.setdefault(text, []).append(unit)
        alike = self._by_line.setdefault(line.text, [])
        alike.append(unit)
        if len(alike) > 1:
            self.twins.update(dict.fromkeys(alike, alike))
        self.pieces[unit] = line
        self.tokens[unit] = line.tokens
        self.least = min(self.least or line.tokens, line.tokens)
        self._missing -= 1


def prepare_archive(excerpts: Sequence[Excerpt], counter: TokenCounter) -> PreparedArchive:
    """The excerpts, ready to be rendered under one vocabulary.

    The indexes of a `Ranking` are places in `excerpts`, whatever their order. Keep the result for each archive epoch
    and vocabulary, and drop it when the user is erased.
    """
    return PreparedArchive(excerpts, counter)


def speaker_name(excerpt: Excerpt) -> str:
    """Who speaks: the person by name, and what is not a person's word labelled as such."""
    name = inline(excerpt.speaker)
    if excerpt.role is Role.USER:
        return name or "User"
    label = _ROLE_NAMES[excerpt.role]
    return f"{name} ({label.lower()})" if name and name.casefold() != label.casefold() else label


def date_line(session_time: datetime, now: datetime, zone: tzinfo) -> str:
    """The line above a session's excerpts."""
    return f"- {local_date(session_time, zone)} ({age(session_time, now, zone)}):\n"


def _order(excerpts: Sequence[Excerpt]) -> list[int] | None:
    keys = [(e.session_time, e.session_no, e.position, e.no) for e in excerpts]
    ordered = sorted(range(len(keys)), key=keys.__getitem__)
    if ordered == list(range(len(keys))):
        return None
    places = [0] * len(keys)
    for place, unit in enumerate(ordered):
        places[unit] = place
    return places
