"""Dates of a conversation: offsets from the instant at which it is played, or absolute ones."""

import re
from datetime import UTC, datetime, timedelta

_OFFSET = re.compile(r"([+-])(\d{1,6})([dhms])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
FORMS = "write `now`, an offset such as -243d, -2h, -30m or +3s, or a date such as 2026-03-31T09:00:00Z"


def read_instant(text: str, now: datetime) -> datetime:
    """The instant in UTC. Raises ValueError with the forms that there are."""
    if text == "now":
        return now
    offset = _OFFSET.fullmatch(text)
    if offset is not None:
        sign, number, unit = offset.groups()
        step = timedelta(**{_UNITS[unit]: int(number)})
        return now + step if sign == "+" else now - step
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"is no date: {FORMS}") from None
    if instant.tzinfo is None:
        raise ValueError("has no time zone: end it with Z or an offset such as +02:00")
    return instant.astimezone(UTC)
