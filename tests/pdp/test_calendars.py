"""Calendar periods: each ends with the first minute of a later local date, whatever the clocks do."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.model.quotas import CalendarPeriod, RateLimit
from app.model.times import MINUTE_US
from app.pdp.rules.calendars import counted_us

CHANGES = {
    "Europe/Berlin": "2026-10-25T01:00",
    "America/St_Johns": "2010-11-07T02:31",
    "Australia/Lord_Howe": "2026-04-04T15:00",
    "Africa/Casablanca": "2026-02-15T02:00",
    "Pacific/Apia": "2011-12-30T10:00",
    "America/Nuuk": "2026-10-25T01:00",
    "Antarctica/Troll": "2026-10-25T01:00",
    "America/Havana": "2026-11-01T05:00",
    "Asia/Beirut": "2026-10-24T21:00",
    "America/Santiago": "2026-09-06T04:00",
}
"""When clocks change, some at midnight; in Newfoundland they went back from 0:01 to 23:01."""


def end_minutes(zone, first, last, period="day"):
    """By minute, when its period ends."""
    limit = RateLimit(max_calls=1, calendar=CalendarPeriod(period), timezone=zone)
    counted = counted_us(limit)
    return {minute: (counted(minute) // MINUTE_US) + limit.seconds // 60 for minute in range(first, last)}


@pytest.mark.parametrize("zone", CHANGES)
def test_a_day_ends_where_a_later_date_begins_for_the_first_time(zone):
    """In the two days around a change of the clocks, minute by minute."""
    middle = int(datetime.fromisoformat(CHANGES[zone]).replace(tzinfo=UTC).timestamp()) // 60
    first, last = middle - 1440, middle + 1440
    dates, reached = {}, None
    for minute in range(first - 240, last + 2 * 1440):
        date = datetime.fromtimestamp(minute * 60, UTC).astimezone(ZoneInfo(zone)).date()
        dates[minute] = reached = date if reached is None else max(reached, date)
    begins = [minute for minute in dates if minute - 1 in dates and dates[minute] != dates[minute - 1]]

    ends = end_minutes(zone, first, last)

    assert ends == {minute: next(each for each in begins if each > minute) for minute in ends}


@pytest.mark.parametrize(
    ("period", "at", "end"),
    [
        ("week", "2026-12-31T12:00", "2027-01-04T00:00"),
        ("week", "2027-01-03T23:59", "2027-01-04T00:00"),
        ("week", "2027-01-04T00:00", "2027-01-11T00:00"),
        ("month", "2026-12-31T12:00", "2027-01-01T00:00"),
        ("month", "2028-02-01T00:00", "2028-03-01T00:00"),
        ("month", "2026-03-31T12:00", "2026-04-01T00:00"),
    ],
)
def test_weeks_begin_on_monday_and_months_on_the_first(period, at, end):
    """In New York, whose clocks are not those of UTC."""
    zone = ZoneInfo("America/New_York")
    minute, wanted = (int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()) // 60 for text in (at, end))
    assert end_minutes("America/New_York", minute, minute + 1, period) == {minute: wanted}


def test_a_time_is_never_before_an_earlier_one():
    """So that what counts stays in order, through two years of one zone."""
    start = datetime(2010, 1, 1, tzinfo=UTC)
    minutes = [int((start + timedelta(hours=hour)).timestamp()) // 60 for hour in range(2 * 365 * 24)]
    counted = counted_us(RateLimit(max_calls=1, calendar=CalendarPeriod.DAY, timezone="America/St_Johns"))
    times = [counted(minute) for minute in minutes]
    assert times == sorted(times)
