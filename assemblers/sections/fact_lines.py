"""One line per fact: subject, key and value, and behind them, from the columns alone, kind, source, origin and age."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, tzinfo

from assemblers.records import Fact, FactOrigin, ValueType
from assemblers.text import age, hidden_characters, inline, local_date

_ORIGINS = {
    FactOrigin.STATED: "stated by the user",
    FactOrigin.TOOL: "from a tool",
    FactOrigin.IMPORTED: "imported",
    FactOrigin.OPERATOR: "entered by an operator",
}


def fact_line(fact: Fact, enumerated: Collection[str], now: datetime, zone: tzinfo) -> str:
    """The line of a fact; values among `enumerated` are the policy's own words and stand without quotes.

    Free text is quoted, so that nothing in it can pass for what the columns say behind it.
    """
    subject = (
        "" if fact.subject.kind == "user" else f"{inline(fact.subject.kind)} {inline(fact.subject.id)}, "
    )
    value = value_text(fact)
    if fact.type in (ValueType.TEXT, ValueType.STATEMENT) and fact.value not in enumerated:
        value = quoted(value)
    stamp = f"{age(fact.read_time, now, zone)}, {local_date(fact.read_time, zone)}"
    # The comma ends the piece before ` read`: that boundary, unlike one before a comma, counts exactly.
    head = f"{fact.kind.lower()}, source {inline(fact.source) or 'unnamed'}, {_ORIGINS[fact.origin]},"
    return f"- {subject}{inline(fact.key)}: {value} ({head} read {stamp})\n"


def hidden_in(fact: Fact) -> int:
    """How many hidden characters the line of a fact leaves out or makes visible."""
    value = fact.value if isinstance(fact.value, str) else ""
    return hidden_characters(fact.subject.kind, fact.subject.id, fact.key, value, fact.source)


def value_text(fact: Fact) -> str:
    """A fact's value as it is shown, without quotes."""
    value = fact.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return inline(value) if isinstance(value, str) else str(value)


def quoted(text: str) -> str:
    """Safe one-line text in double quotes; quotes within become single ones, so that none of them closes it."""
    return '"' + text.replace('"', "'") + '"'
