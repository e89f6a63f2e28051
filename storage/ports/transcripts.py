"""The turns of live sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from assemblers.records import SessionRef, Turn
from storage.ports.archives import ArchivedSession, ArchiveWritten
from storage.ports.pages import Page, PageRequest
from storage.ports.receipts import Receipt


@dataclass(frozen=True, slots=True)
class TurnsWritten:
    """How many turns were new; a known turn id with equal content is counted as a duplicate, with other content it is
    refused (`AlreadyExists("turn_id")`) and nothing is stored."""

    recorded: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """What ending a session did. `archived` is None where the policy keeps nothing."""

    turns: int
    archived: ArchiveWritten | None


class TranscriptStore(Protocol):
    """The turns of live sessions. An expired turn is never returned.

    `expire_time` None: kept until the session ends.
    """

    async def record(
        self,
        session: SessionRef,
        turns: Sequence[Turn],
        now: datetime,
        expire_time: datetime | None,
        receipt: Receipt[TurnsWritten],
    ) -> TurnsWritten: ...
    async def list(self, session: SessionRef, now: datetime, page: PageRequest) -> Page[Turn]: ...
    async def since_last_question(self, session: SessionRef, now: datetime) -> tuple[Turn, ...]:
        """The latest USER turn and all after it, oldest first; all turns where there is no USER turn."""
        ...

    async def end(
        self,
        session: SessionRef,
        archived: ArchivedSession | None,
        now: datetime,
        receipt: Receipt[SessionEnded],
        expected_turns: int | None = None,
    ) -> SessionEnded:
        """Archive what is given and remove the session's turns, in one step.

        Raises `SessionChanged` unless it has `expected_turns` (None: any number): what was recorded after the archive
        was made must not go with the rest.
        """
        ...
