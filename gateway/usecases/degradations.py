"""What an answer may have to do without, in fixed words: nothing of an error's text or a caller's content is in it."""

from assemblers.records import Degradation, Reason, SectionKind, SectionStatus

LATE = "the store did not answer within its share of the deadline"
NO_ANSWER = "the store does not answer"
UNKNOWN = "nobody could say whether the user's data may still be used"
AS_IT_WAS = "the store does not answer; what is shown was current within the last minute"
BEHIND = "the cache of sessions lost what was stored last; what is shown is from before"

SLOTS_NOT_SAVED = (
    "slots_not_saved: the cache of sessions did not take them, so the next turn will not know of this one"
)
SLOTS_UNKNOWN = (
    "slots_unknown: the cache of sessions does not answer, so the slots are not among what is answered"
)
TRACE_NOT_DURABLE = (
    "trace_not_durable: the trace is kept on this gateway's disk alone until the ledger answers again"
)
POLICY_AS_IT_WAS = (
    "policy_as_it_was: the tenant's policies could not be read, so the revision used last is in force"
)


def unavailable(section: SectionKind, detail: str = NO_ANSWER) -> Degradation:
    """Its source does not answer."""
    return Degradation(section, SectionStatus.UNAVAILABLE, Reason.UNAVAILABLE, detail)


def late(section: SectionKind) -> Degradation:
    """Its source did not answer in time."""
    return Degradation(section, SectionStatus.UNAVAILABLE, Reason.LATE, LATE)


def stale(section: SectionKind, detail: str = AS_IT_WAS) -> Degradation:
    """It is shown as it was."""
    return Degradation(section, SectionStatus.STALE, Reason.UNAVAILABLE, detail)


def denied(section: SectionKind) -> Degradation:
    """It may not be shown, since nobody can say whether it still may."""
    return Degradation(section, SectionStatus.DENIED, Reason.UNAVAILABLE, UNKNOWN)
