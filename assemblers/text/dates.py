"""Dates and ages as a reader in a time zone sees them: whole calendar days, never hours.

The clock is an argument: nothing here reads the machine's time or its zone.
"""

from datetime import UTC, date, datetime, time, timedelta, tzinfo

_DAY = timedelta(days=1)


def local_date(instant: datetime, zone: tzinfo) -> str:
    """The calendar date of an aware instant in `zone`: `2026-11-15`. ValueError for a naive instant."""
    return _date(instant, zone).isoformat()


def age(instant: datetime, now: datetime, zone: tzinfo) -> str:
    """How many midnights of `zone` lie between: `today`, `1 day ago`, `14 days ago`.

    An instant after `now` (a source's clock runs ahead) is `today`. ValueError for a naive instant.
    """
    days = (_date(now, zone) - _date(instant, zone)).days
    if days <= 0:
        return "today"
    return "1 day ago" if days == 1 else f"{days} days ago"


def until_next_midnight(now: datetime, zone: tzinfo) -> timedelta:
    """How long the ages and dates said at `now` stay true: until the date of `zone` changes. Positive."""
    try:
        midnight = datetime.combine(_date(now, zone) + _DAY, time(), tzinfo=zone)
        return midnight.astimezone(UTC) - now.astimezone(UTC)
    except OverflowError:
        return _DAY


def _date(instant: datetime, zone: tzinfo) -> date:
    if instant.tzinfo is None:
        raise ValueError("instant: give a datetime with a time zone")
    try:
        return instant.astimezone(zone).date()
    except OverflowError:
        # The first and the last day that a datetime can hold have no neighbour to shift to.
        return instant.date()
