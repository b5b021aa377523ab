"""Calendar periods: when the day, week or month that has begun ends, in a time zone."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from app.model.quotas import CalendarPeriod, Span
from app.model.times import MINUTE_US

_LATE_HOUR, _BACK_MINUTES = 20, 180
"""Clocks go back by three hours at most, so a date that was reached before is left again only late in the evening."""


def counted_us(span: Span) -> Callable[[int], int]:
    """A function of a minute since the epoch: the time, in us, under which calls of that minute count.

    All calls of a period count until it ends, so under one time: the end without the window. Answers never decrease.
    """
    zone, window_us = ZoneInfo(span.zone), span.seconds * 1_000_000
    latest: tuple[date, int] = (date.min, 0)

    def counted(minute: int) -> int:
        nonlocal latest
        last_day = _last_day(_latest_date(minute, zone), span.calendar)
        if latest[0] != last_day:
            latest = (last_day, _end_minute(last_day, zone) * MINUTE_US - window_us)
        return latest[1]

    return counted


def _local(minute: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC).astimezone(zone)


def _latest_date(minute: int, zone: ZoneInfo) -> date:
    """The local date, or a later one that there was already before clocks went back."""
    local = _local(minute, zone)
    if local.hour < _LATE_HOUR:
        return local.date()
    return max(_local(each, zone).date() for each in range(minute - _BACK_MINUTES, minute + 1))


def _last_day(day: date, period: object) -> date:
    if period == CalendarPeriod.DAY:
        return day
    if period == CalendarPeriod.WEEK:
        return day + timedelta(days=6 - day.weekday())
    return (day.replace(day=1) + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _end_minute(last_day: date, zone: ZoneInfo) -> int:
    """The first minute with a later local date. From UTC to local time, which always has one answer."""
    noon = datetime(last_day.year, last_day.month, last_day.day, 12, tzinfo=UTC)
    offset = noon.astimezone(zone).utcoffset() or timedelta()
    # Half a day after the day's noon, by the clock of that day, and as much before and after as clocks may change.
    middle = int((noon - offset).timestamp()) // 60 + 12 * 60
    return next(
        minute
        for minute in range(middle - 2 * _BACK_MINUTES, middle + 26 * 60)
        if _local(minute, zone).date() > last_day
    )
