"""The use cases of SessionService but RecordTurns: look at a session, set its slots, end it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from assemblers.policy.model import ArchiveRules, Policy
from assemblers.records import SessionRef, Slots, Turn
from assemblers.slots import InvalidSlotsError, with_updates
from gateway.errors import Aborted, FieldViolation, InvalidArgument, Reason
from gateway.usecases.archiving import KnownSession, PastSession, cut_sessions, known_sessions
from gateway.usecases.fitting import fitting_page
from gateway.usecases.freshness import Freshness
from gateway.usecases.receipts import through
from gateway.usecases.repeats import Repeats
from gateway.usecases.resolution import PolicyCatalog
from gateway.usecases.shared_answers import SharedAnswers
from gateway.usecases.slot_book import ATTEMPTS, SlotBook, whole_seconds
from gateway.usecases.turn_rules import content_bytes
from gateway.usecases.vector_search import VectorSearch
from storage.errors import SessionChanged
from storage.ports import (
    ArchivedSession,
    Page,
    PageRequest,
    Receipt,
    SessionEnded,
    SessionState,
    TranscriptStore,
)

_PAGE = 500


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session's slots. `etag` is "" and `expire_time` None where there are none."""

    session: SessionRef
    slots: Slots
    etag: str
    expire_time: datetime | None


@dataclass(frozen=True, slots=True)
class SlotUpdate:
    """Slots to set: those of `values` that `paths` names. `policy` is a reference or "", `etag` "" for any."""

    session: SessionRef
    paths: tuple[str, ...]
    values: Slots
    policy: str = ""
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """What ending a session did: turns that are kept no more, whether the policy archives them, and the numbers of the
    new excerpts."""

    turns: int
    archived: bool
    excerpts: range


class Sessions:
    """Sessions over the transcript, the archive and the cache. An unknown session is a new one: nothing is in it."""

    def __init__(
        self,
        transcripts: TranscriptStore,
        slots: SlotBook,
        policies: PolicyCatalog,
        freshness: Freshness,
        vectors: VectorSearch | None = None,
        answers: SharedAnswers | None = None,
    ) -> None:
        """`answers` are those of all gateways; None: there is this one only."""
        self._transcripts, self._slots = transcripts, slots
        self._vectors = vectors or VectorSearch()
        self._policies, self._freshness = policies, freshness
        self._repeats, self._answers = Repeats(), answers

    async def get(
        self, session: SessionRef, now: datetime, page: PageRequest
    ) -> tuple[SessionView, Page[Turn]]:
        """The session with a page of its turns, oldest first, as far as 1 MiB goes."""
        state = await self._slots.read(session, now)
        turns = await fitting_page(
            lambda request: self._transcripts.list(session, now, request), page, content_bytes
        )
        return _view(session, state), turns

    async def update_slots(
        self, update: SlotUpdate, now: datetime, receipt: Receipt[SessionView]
    ) -> SessionView:
        """Set slots by hand. Raises InvalidArgument with all that the policy does not declare, or Aborted."""
        return await self._repeats.once(receipt, lambda: self._update_once(update, now, receipt))

    async def _update_once(
        self, update: SlotUpdate, now: datetime, receipt: Receipt[SessionView]
    ) -> SessionView:
        if self._answers is None:
            return await self._update(update, now)
        return await self._answers.once(update.session.user, receipt, lambda: self._update(update, now))

    async def _update(self, update: SlotUpdate, now: datetime) -> SessionView:
        policy = (await self._policies.resolve(update.session.tenant_id, update.policy)).policy

        def change(slots: Slots) -> Slots:
            return with_updates(slots, policy.slots, update.paths, update.values)

        try:
            if update.etag:
                state = await self._change_if(update, policy, now, change)
            else:
                state = await self._slots.change(update.session, policy, now, change)
        except InvalidSlotsError as error:
            raise _invalid(error) from None
        return _view(update.session, state)

    async def _change_if(
        self, update: SlotUpdate, policy: Policy, now: datetime, change: Callable[[Slots], Slots]
    ) -> SessionState:
        """Change the slots if their etag is the stated one, also in the instant of storing them."""
        state = await self._slots.read(update.session, now)
        if update.etag == _etag(state):
            slots = change(state.slots)
            if await self._slots.put(update.session, policy, now, slots, state.revision):
                expires = now + timedelta(seconds=whole_seconds(policy.slots.ttl))
                return SessionState(slots, state.revision + 1, expires)
            state = await self._slots.read(update.session, now)
        raise _stale(_etag(state))

    async def end(self, session: SessionRef, policy: str, now: datetime, receipt: Receipt[Ending]) -> Ending:
        """Archive the turns where the policy says so, and forget turns and slots.

        A turn that is recorded meanwhile is archived too. Raises Aborted where they do not stop coming.
        """
        rules = (await self._policies.resolve(session.tenant_id, policy)).policy.archive
        for _ in range(ATTEMPTS):
            with suppress(SessionChanged):
                return await self._end(session, rules, now, receipt)
        raise Aborted(
            Reason.REVISION_CONFLICT,
            "session: turns keep being recorded while it is to end: repeat when it is quiet",
            {"session_id": session.session_id},
        )

    async def _end(
        self, session: SessionRef, rules: ArchiveRules, now: datetime, receipt: Receipt[Ending]
    ) -> Ending:
        archived, expected = None, None
        if rules.on_end_session:
            turns = await self._turns(session, now)
            archived, expected = await self._archived(session, turns, rules, now), len(turns)
        kept: Receipt[SessionEnded] = through(receipt, lambda ended: _ending(ended, archived))
        # The slots go first: a session may lose them, but must not keep them once its end was acknowledged.
        await self._slots.drop(session)
        ended = await self._transcripts.end(session, archived, now, kept, expected)
        if ended.archived is not None:
            await self._vectors.archived(session.user, ended.archived.added)
        return _ending(ended, archived)

    async def _archived(
        self, session: SessionRef, turns: tuple[Turn, ...], rules: ArchiveRules, now: datetime
    ) -> ArchivedSession:
        known = await self._known(session)
        past = PastSession(session.session_id, turns[0].occur_time if turns else now, turns)
        (cut,) = await cut_sessions([past], rules, known)
        return cut.archived

    async def _turns(self, session: SessionRef, now: datetime) -> tuple[Turn, ...]:
        turns: list[Turn] = []
        page = await self._transcripts.list(session, now, PageRequest(_PAGE))
        turns += page.items
        while page.next_cursor:
            page = await self._transcripts.list(session, now, PageRequest(_PAGE, page.next_cursor))
            turns += page.items
        return tuple(turns)

    async def _known(self, session: SessionRef) -> dict[str, KnownSession]:
        """What an earlier ending or an import has archived of this session."""
        snapshot = await self._freshness.certain_archive(session.user)
        return known_sessions(snapshot, {session.session_id})


def _ending(ended: SessionEnded, archived: ArchivedSession | None) -> Ending:
    written = ended.archived
    numbers = range(written.first_no, written.end_no) if written is not None else range(0)
    return Ending(ended.turns, archived is not None, numbers)


def _view(session: SessionRef, state: SessionState) -> SessionView:
    return SessionView(session, state.slots, _etag(state), state.expire_time)


def _etag(state: SessionState) -> str:
    return str(state.revision) if state.revision else ""


def _stale(current: str) -> Aborted:
    return Aborted(
        Reason.ETAG_MISMATCH,
        "etag: the slots have changed since they were read: read the session again and repeat with its present etag",
        {"field": "etag", "etag": current},
    )


def _invalid(error: InvalidSlotsError) -> InvalidArgument:
    violations = [
        FieldViolation(fault.field if fault.field == "update_mask" else f"slots.{fault.field}", fault.message)
        for fault in error.faults
    ]
    return InvalidArgument(violations)
