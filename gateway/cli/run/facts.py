"""`facts`: what is remembered of a user."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import typer
from rich.console import RenderableType
from rich.text import Text

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection, Who
from gateway.cli.run.output import calling, emit, fail
from gateway.cli.run.references import fact_name
from gateway.cli.show.tables import facts_table, verdict_lines
from gateway.client.conversations.instants import read_instant
from muniment.v1.fact_pb2 import (
    DeleteFactRequest,
    Fact,
    FactResult,
    GetFactRequest,
    InvalidateFactsRequest,
    ListFactsRequest,
    RecordFactsRequest,
)
from muniment.v1.types_pb2 import FactOrigin, UserRef


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact as the command line gives it. `type` is the field of the value in the contract."""

    key: str
    value: str
    type: str
    origin: str
    source: str
    writer: str
    read: str
    confidence: float | None


def record(connection: Connection, who: Who, claim: Claim, policy: str, dry_run: bool) -> None:
    """Offer one fact; a refusal is told with the place where it belongs and ends with the code for invalid."""
    request = RecordFactsRequest(user=_user(who), facts=[_fact(claim)], policy=policy, validate_only=dry_run)
    with calling(connection) as client:
        answer = client.call(client.facts.RecordFacts, request)
    stored = _stored(answer.results)
    views: list[RenderableType] = [*verdict_lines([claim.key], answer.results)]
    if stored:
        views.append(facts_table(stored))
    emit(connection, answer, *views)
    if any(result.verdict == FactResult.VERDICT_REFUSED for result in answer.results):
        raise typer.Exit(ExitCode.INVALID)


def _stored(results: Iterable[FactResult]) -> list[Fact]:
    return [result.fact for result in results if result.HasField("fact")]


def _user(who: Who) -> UserRef:
    return UserRef(tenant_id=who.tenant, user_id=who.user)


def _fact(claim: Claim) -> Fact:
    fact = Fact(
        key=claim.key,
        origin=FactOrigin.Value(f"FACT_ORIGIN_{claim.origin.upper()}"),
        source=claim.source,
        writer=claim.writer,
    )
    _set_value(fact, claim)
    if claim.confidence is not None:
        fact.confidence = claim.confidence
    if claim.read:
        fact.read_time.FromDatetime(_instant("--read", claim.read))
    return fact


def _set_value(fact: Fact, claim: Claim) -> None:
    try:
        if claim.type == "instant":
            fact.instant.FromDatetime(_instant("--value", claim.value))
        elif claim.type == "flag":
            fact.flag = {"true": True, "false": False}[claim.value]
        else:
            convert = {"integer": int, "number": float}.get(claim.type, str)
            setattr(fact, claim.type, convert(claim.value))
    except (ValueError, KeyError):
        fail(f"{claim.value!r} is no {claim.type}: write one, or choose another --type", ExitCode.USAGE)


def _instant(option: str, text: str) -> datetime:
    try:
        return read_instant(text, datetime.now(UTC))
    except ValueError as error:
        fail(f"{option} {error}", ExitCode.USAGE)


def list_facts(connection: Connection, who: Who, key: str, everything: bool, limit: int) -> None:
    """A user's facts."""
    request = ListFactsRequest(user=_user(who), key=key, include_retired=everything, page_size=limit)
    with calling(connection) as client:
        answer = client.call(client.facts.ListFacts, request)
    more = [Text("there are more: raise --limit", "dim")] if answer.next_page_token else []
    emit(connection, answer, facts_table(answer.facts), *more)


def get(connection: Connection, who: Who, reference: str) -> None:
    """One fact, whatever its state."""
    with calling(connection) as client:
        answer = client.call(client.facts.GetFact, GetFactRequest(name=fact_name(reference, who)))
    emit(connection, answer, facts_table([answer.fact]), _origin(answer.fact))


def _origin(fact: Fact) -> Text:
    origin = FactOrigin.Name(fact.origin).removeprefix("FACT_ORIGIN_").lower()
    text = (
        f"{fact.name}\n{origin}, from {fact.source}, written by {fact.writer}, confidence {fact.confidence:g}"
    )
    text += f"\nsuperseded by {fact.superseded_by}" if fact.superseded_by else ""
    return Text(text + (f"\ninvalidated: {fact.invalidation_reason}" if fact.invalidation_reason else ""))


def invalidate(
    connection: Connection, who: Who, selector: dict[str, str], reason: str, dry_run: bool
) -> None:
    """Take facts out of use; `selector` has one of `name`, `key`, `source`, `writer`."""
    given = {kind: value for kind, value in selector.items() if value}
    if len(given) != 1:
        fail("choose the facts with one of --name, --key, --source, --writer", ExitCode.USAGE)
    request = InvalidateFactsRequest(user=_user(who), reason=reason, validate_only=dry_run)
    kind, value = given.popitem()
    setattr(request, kind, fact_name(value, who) if kind == "name" else value)
    with calling(connection) as client:
        answer = client.call(client.facts.InvalidateFacts, request)
    verb = "would be invalidated" if dry_run else "invalidated"
    counts = (
        f"{verb}: {answer.invalidated_count}; traces in which they appeared: {answer.affected_trace_count}"
    )
    emit(connection, answer, facts_table(answer.invalidated), Text(counts))


def delete(connection: Connection, who: Who, reference: str) -> None:
    """Remove a fact's value for good."""
    with calling(connection) as client:
        answer = client.call(client.facts.DeleteFact, DeleteFactRequest(name=fact_name(reference, who)))
    emit(
        connection, answer, Text(f"deleted {answer.fact.name}: its value is gone, number, key and times stay")
    )
