"""Dates and ages follow the caller's zone, in whole days."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from assemblers.text import age, local_date, until_next_midnight

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
BERLIN = ZoneInfo("Europe/Berlin")
KIRITIMATI = ZoneInfo("Pacific/Kiritimati")


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def test_the_date_is_that_of_the_zone_asked_for():
    instant = utc(2025, 7, 25, 2, 0)
    assert local_date(instant, UTC) == "2025-07-25"
    assert local_date(instant, LOS_ANGELES) == "2025-07-24"


def test_the_servers_own_zone_has_no_say(monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    assert local_date(utc(2025, 7, 25, 23, 0), UTC) == "2025-07-25"


@pytest.mark.parametrize(
    ("instant", "now", "expected"),
    [
        (utc(2026, 11, 15, 0, 0), utc(2026, 11, 15, 23, 59), "today"),
        (utc(2026, 11, 15, 23, 59), utc(2026, 11, 16, 0, 1), "1 day ago"),
        (utc(2026, 11, 1, 12), utc(2026, 11, 15, 12), "14 days ago"),
        (utc(2026, 11, 16), utc(2026, 11, 15), "today"),
        (utc(2024, 2, 28), utc(2026, 2, 28), "731 days ago"),
    ],
)
def test_ages_count_calendar_days_and_are_never_negative(instant, now, expected):
    assert age(instant, now, UTC) == expected


def test_the_day_turns_at_midnight_of_the_zone():
    instant, now = utc(2026, 6, 1, 21, 59), utc(2026, 6, 1, 22, 1)
    assert age(instant, now, UTC) == "today"
    assert age(instant, now, BERLIN) == "1 day ago"


def test_an_age_across_a_clock_change_is_whole_days():
    assert age(utc(2026, 3, 28, 12), utc(2026, 3, 30, 12), BERLIN) == "2 days ago"


@pytest.mark.parametrize(
    ("now", "hours"),
    [
        (utc(2026, 3, 28, 23), 23),
        (utc(2026, 10, 24, 22), 25),
        (utc(2026, 6, 1, 22), 24),
        (utc(2026, 6, 1, 21), 1),
    ],
)
def test_the_next_midnight_knows_clock_changes(now, hours):
    assert until_next_midnight(now, BERLIN) == timedelta(hours=hours)


def test_an_age_holds_exactly_until_the_next_midnight():
    now = utc(2026, 6, 1, 13, 7)
    turn = now + until_next_midnight(now, KIRITIMATI)
    before = turn - timedelta(microseconds=1)
    assert age(now, before, KIRITIMATI) == "today"
    assert age(now, turn, KIRITIMATI) == "1 day ago"


def test_a_midnight_that_a_clock_change_skips_is_the_change_itself():
    beirut = ZoneInfo("Asia/Beirut")  # 2021-03-28 begins at 01:00
    assert until_next_midnight(utc(2021, 3, 27, 21, 30), beirut) == timedelta(minutes=30)


@pytest.mark.parametrize("instant", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_ends_of_the_calendar_do_not_overflow(instant):
    for zone in (timezone(timedelta(hours=-12)), timezone(timedelta(hours=14))):
        assert len(local_date(instant, zone)) == 10
        assert until_next_midnight(instant, zone) > timedelta(0)


def test_a_naive_instant_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        local_date(datetime(2026, 1, 1), UTC)  # noqa: DTZ001  # the point of the test
