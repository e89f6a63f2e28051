"""A trace with both sides decoded, stored or only captured."""

from dataclasses import dataclass

from assemblers.assembly import TurnInput
from assemblers.records import Degradation, Role, SessionRef, Slots, Turn, UserRef
from assemblers.records import Reason as Why
from assemblers.trace.capture import CapturedTrace
from assemblers.trace.codec import decode_record
from assemblers.trace.content_codec import decode_content
from assemblers.trace.errors import MalformedTrace
from assemblers.trace.record import SALT_BYTES, Asked, TraceContent, TraceRecord
from assemblers.trace.replay import content_matches
from gateway.errors import FailedPrecondition, Internal, Reason
from gateway.names import trace_name
from storage.ports import Seal, StoredTrace


@dataclass(frozen=True, slots=True)
class OpenedTrace:
    """A trace, readable. `content` is None once it was erased; `seal` is None for a trace that is not stored."""

    session: SessionRef
    turn_id: str
    record: TraceRecord
    content: TraceContent | None
    seal: Seal | None

    @property
    def user(self) -> UserRef:
        """Whose it is."""
        return self.session.user

    @property
    def name(self) -> str:
        """The resource name; of a stored trace only."""
        return trace_name(self.session.tenant_id, self.record.trace_id)

    def whole(self) -> TraceContent:
        """The content. Raises FailedPrecondition where it was erased."""
        if self.content is None:
            raise self.erased("its content")
        return self.content

    def readable(self) -> TraceContent:
        """The content, or what the record alone can say in its place: everything that is told in words is empty."""
        return _remains(self) if self.content is None else self.content

    def erased(self, what: str) -> FailedPrecondition:
        """The error for a prompt that cannot be shown any more. `what` names the part, such as `fact/3`."""
        return FailedPrecondition(
            Reason.ERASED,
            f"the prompt cannot be made again: {what} was erased; what remains is the sealed record, which GetTrace "
            "shows",
            {"name": self.name},
        )


def open_stored(stored: StoredTrace) -> OpenedTrace:
    """A trace of the ledger. Raises Internal for bytes that this release cannot read or that belie the seal."""
    try:
        record = decode_record(stored.record)
        content = None if stored.content is None else decode_content(stored.content)
    except MalformedTrace:
        raise Internal(
            Reason.INTERNAL,
            "the trace cannot be read by this release: keep it, and read it with the release that wrote it",
        ) from None
    if content is not None and stored.content is not None:
        _check_seal(record, content, stored.content)
    return OpenedTrace(stored.session, stored.turn_id, record, content, stored.seal)


def open_captured(captured: CapturedTrace, session: SessionRef) -> OpenedTrace:
    """A trace that was made and not stored."""
    content = decode_content(captured.content)
    return OpenedTrace(session, content.turn.turn.turn_id, decode_record(captured.record), content, None)


def _check_seal(record: TraceRecord, content: TraceContent, encoded: bytes) -> None:
    if not content_matches(record, content, encoded):
        raise Internal(
            Reason.INTERNAL,
            "the trace's content is not the one that its sealed record commits to: restore the data folder from a "
            "backup",
        )


def _remains(trace: OpenedTrace) -> TraceContent:
    record = trace.record
    turn = Turn(trace.turn_id, Role.USER, (), record.now)
    return TraceContent(
        salt=bytes(SALT_BYTES),
        session_id=trace.session.session_id,
        turn=TurnInput(turn, "", trace.turn_id, record.now),
        asked=Asked(),
        material=(),
        slots_before=Slots(),
        slots_after=Slots(),
        query_terms=(),
        refs=tuple([block.refs for block in record.blocks if isinstance(block.refs, tuple)]),
        prompt_sha256="",
        section_sha256={},
        notes={},
        degradations=tuple(
            [Degradation(d.section, d.status, Why(d.reason), "") for d in record.degradations]
        ),
        warnings=(),
    )
