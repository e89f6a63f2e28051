"""Stores what a session is about after a turn, which must never cost the turn its answer."""

from datetime import datetime

from assemblers.assembly import TurnInput
from assemblers.policy.model import Policy, SessionSection
from assemblers.records import Role, SessionRef, Slots, ToolCall, ToolResult
from assemblers.slots import after_question, after_tool_results
from gateway.usecases.opening import Opening
from gateway.usecases.slot_book import SlotBook
from storage.errors import StorageUnavailable


class SlotKeeper:
    """Remembers turns in the slots."""

    def __init__(self, slots: SlotBook) -> None:
        self._slots = slots

    async def remember(
        self,
        session: SessionRef,
        policy: Policy,
        now: datetime,
        opening: Opening,
        turn: TurnInput,
        slots: Slots,
    ) -> Slots | None:
        """Store `slots`, which came out of `turn`; where another turn was faster, apply this one's change to its.

        The slots as they are then; None where they could not be stored. Raises Aborted when the session is fought over
        without end.
        """
        if opening.standing.is_denied:
            # They may be an erased user's: nothing of them is written.
            return None
        try:
            if opening.is_known and await self._slots.put(
                session, policy, now, slots, opening.state.revision
            ):
                return slots
            state = await self._slots.change(
                session, policy, now, lambda slots: after_turn(slots, policy, turn)
            )
        except (StorageUnavailable, TimeoutError):
            return None
        return state.slots


def with_results(slots: Slots, policy: Policy, turn: TurnInput) -> Slots:
    """The slots after the newest tool results, if it is these that are being answered."""
    if turn.turn.role is not Role.TOOL:
        return slots
    calls = [c for t in turn.open_turns for c in t.contents if isinstance(c, ToolCall)]
    results = [c for c in turn.turn.contents if isinstance(c, ToolResult)]
    return after_tool_results(slots, policy.slots, calls, results, turn.turn.turn_id)[0]


def after_turn(slots: Slots, policy: Policy, turn: TurnInput) -> Slots:
    """The slots after a turn was answered, from any state before it."""
    slots = with_results(slots, policy, turn)
    if turn.turn.role is not Role.USER:
        return slots
    settings = policy.settings(SessionSection) or SessionSection()
    return after_question(slots, turn.question, turn.question_turn_id, settings.max_question_characters)
