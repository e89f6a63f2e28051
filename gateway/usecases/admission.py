"""The admission gate: which offered facts may outlive their session, and until when. The policy decides."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from assemblers.policy.model import FactKey, FactRules
from assemblers.records import FactKind, FactOrigin, FactValue, Subject, ValueType
from gateway.errors import InvalidArgument
from gateway.usecases.turn_rules import has_visible
from storage.ports import FactDraft

CLOCK_SKEW = timedelta(minutes=5)
"""How far a caller's clock may be ahead of ours."""

_LAST_INSTANT = datetime(9999, 12, 30, tzinfo=UTC)
_STRENGTH = {FactOrigin.IMPORTED: 0, FactOrigin.TOOL: 1, FactOrigin.STATED: 2, FactOrigin.OPERATOR: 3}
_MOST_SHOWN = 20


class Refusal(StrEnum):
    """Why a fact was refused: the names of `muniment.v1.FactResult.RefusalReason`."""

    KEY_NOT_ALLOWED = "KEY_NOT_ALLOWED"
    WRONG_TYPE = "WRONG_TYPE"
    VALUE_NOT_ALLOWED = "VALUE_NOT_ALLOWED"
    WRONG_KIND = "WRONG_KIND"
    ORIGIN_TOO_WEAK = "ORIGIN_TOO_WEAK"
    ALREADY_EXPIRED = "ALREADY_EXPIRED"


class Place(StrEnum):
    """Where a claim belongs: durable memory, or the session's state that ends with it."""

    DURABLE = "DURABLE"
    SESSION = "SESSION"


@dataclass(frozen=True, slots=True)
class OfferedFact:
    """A fact as offered. `kind` and `expire_time` None: what the policy says; `read_time` None: now."""

    subject: Subject
    key: str
    type: ValueType
    value: FactValue
    kind: FactKind | None
    origin: FactOrigin
    source: str
    writer: str
    confidence_permille: int = 1000
    read_time: datetime | None = None
    expire_time: datetime | None = None
    source_turn: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's answer: a draft to store, or a refusal with its detail, the policy field that decided, and the place
    where the claim belongs instead."""

    belongs_to: Place
    draft: FactDraft | None = None
    refusal: Refusal | None = None
    detail: str = ""
    policy_field: str = ""


def check_read_times(offered: tuple[OfferedFact, ...], now: datetime) -> None:
    """Raises InvalidArgument where a fact claims to have been read in the future."""
    for index, fact in enumerate(offered):
        if fact.read_time is not None and fact.read_time > now + CLOCK_SKEW:
            raise InvalidArgument.of(
                f"facts[{index}].read_time",
                "lies in the future: give the instant at which the source was read, or leave it out for now",
            )


def check_visible(offered: tuple[OfferedFact, ...]) -> None:
    """Raises InvalidArgument where a reader would see nothing of a fact's text."""
    for index, fact in enumerate(offered):
        if isinstance(fact.value, str) and not has_visible(fact.value):
            raise InvalidArgument.of(
                f"facts[{index}].{fact.type.lower()}",
                "is blank: send the text that is to be remembered, or take a fact back with InvalidateFacts",
            )


def admit(offered: OfferedFact, rules: FactRules, now: datetime) -> Verdict:
    """The verdict on one fact.

    A reading that is older than its time to live is admitted: it never renders, but an auditor sees what was known, and
    it supersedes what was read before it.
    """
    place, key = next(((i, k) for i, k in enumerate(rules.allowlist) if k.key == offered.key), (0, None))
    if key is None:
        return _unlisted(offered.key, rules)
    field = f"facts.allowlist[{place}]"
    return _refusal(offered, key, field) or _accepted(offered, key, rules, now)


def _unlisted(key: str, rules: FactRules) -> Verdict:
    known = ", ".join(k.key for k in rules.allowlist[:_MOST_SHOWN]) or "none"
    return Verdict(
        Place.SESSION,
        refusal=Refusal.KEY_NOT_ALLOWED,
        detail=f"the policy keeps no {key!r} beyond the session (its keys: {known}): leave it to the session, or add "
        "the key with its purpose to facts.allowlist",
        policy_field="facts.allowlist",
    )


def _refusal(offered: OfferedFact, key: FactKey, field: str) -> Verdict | None:
    """Why an allowed key's fact is refused, or None. What mending would admit belongs to durable memory."""
    if offered.type is not key.type:
        detail = f"{key.key!r} has values of type {key.type}, not {offered.type}: send it in that field"
        return Verdict(Place.DURABLE, None, Refusal.WRONG_TYPE, detail, f"{field}.type")
    if key.values and offered.value not in key.values:
        detail = f"{key.key!r} takes one of {_listed(key.values)}: send one of them, word for word"
        return Verdict(Place.DURABLE, None, Refusal.VALUE_NOT_ALLOWED, detail, f"{field}.values")
    if offered.kind not in (None, key.kind):
        detail = (
            f"{key.key!r} is of kind {key.kind}, not {offered.kind}: leave the kind out, or send that one"
        )
        return Verdict(Place.DURABLE, None, Refusal.WRONG_KIND, detail, f"{field}.kind")
    if key.min_origin is not None and _STRENGTH[offered.origin] < _STRENGTH[key.min_origin]:
        detail = f"{key.key!r} needs an origin of at least {key.min_origin}, not {offered.origin}: have it confirmed"
        return Verdict(Place.SESSION, None, Refusal.ORIGIN_TOO_WEAK, detail, f"{field}.min_origin")
    return None


def _accepted(offered: OfferedFact, key: FactKey, rules: FactRules, now: datetime) -> Verdict:
    read_time = offered.read_time or now
    expire_time = _later(read_time, key.ttl or rules.ttl[key.kind])
    if offered.expire_time is not None:
        expire_time = min(expire_time, offered.expire_time)
    if expire_time <= read_time:
        detail = "its expire_time is not after its read_time, so it was never in force: set it later, or leave it out"
        return Verdict(Place.DURABLE, None, Refusal.ALREADY_EXPIRED, detail)
    draft = FactDraft(
        subject=offered.subject,
        key=offered.key,
        type=offered.type,
        value=offered.value,
        kind=key.kind,
        origin=offered.origin,
        source=offered.source,
        writer=offered.writer,
        confidence_permille=offered.confidence_permille,
        read_time=read_time,
        expire_time=expire_time,
        source_turn=offered.source_turn,
    )
    return Verdict(Place.DURABLE, draft)


def _later(instant: datetime, length: timedelta) -> datetime:
    """The instant after that length, at most the last one that can be stored."""
    return instant + length if length < _LAST_INSTANT - instant else _LAST_INSTANT


def _listed(values: tuple[str, ...]) -> str:
    more = len(values) - _MOST_SHOWN
    return ", ".join(values[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
