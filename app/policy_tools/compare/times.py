"""Times at which calls are compared: one for each combination of windows that are open and closed."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec import UnsetType

from app.model.rule import Rule
from app.model.rules import TimeBased
from app.model.time_windows import DAY_MINUTES, TimeWindow
from app.model.times import MINUTE_US
from app.pdp.rules.time_based import compile_time_window

_NOON_MINUTE = 1_795_608_000 // 60
"""A Wednesday at noon, UTC."""

_STEP_MINUTES = 15
"""Hours begin, and clocks change, on such minutes of UTC."""

_DAYS = 8
"""A week, and the day on which clocks change."""

_YEARS = 2
_MOST_DATES = 24


def times_of(rules: Iterable[Rule]) -> tuple[list[int], bool]:
    """One time for each combination of windows that are open and closed, the most open ones first; True if that is all.

    Every combination occurs in a week of each way in which clocks stand to each other, or around a date on which an
    exception begins or ends.
    """
    windows = [rule.time_window for rule in rules if isinstance(rule, TimeBased)]
    if not windows:
        return [_NOON_MINUTE * MINUTE_US], True
    checks = [compile_time_window(window) for window in windows]
    dates = sorted({date for window in windows for date in _dates(window)})
    spells = [*_weeks(sorted({window.zone for window in windows}))]
    spells += [(minute - _DAYS * DAY_MINUTES, minute + _DAYS * DAY_MINUTES) for minute in dates[:_MOST_DATES]]
    edges = sorted({0, *(edge % _STEP_MINUTES for window in windows for edge in _edges(window))})
    found: dict[tuple[bool, ...], int] = {}
    for start, end in spells:
        for edge in edges:
            for minute in range(start + edge, end, _STEP_MINUTES):
                found.setdefault(tuple(check(minute) is None for check in checks), minute * MINUTE_US)
    times = [time for _, time in sorted(found.items(), key=lambda each: -sum(each[0]))]
    return times, len(dates) <= _MOST_DATES


def _edges(window: TimeWindow) -> Iterator[int]:
    """Yield the minutes of a day at which its spans begin and end."""
    for span in () if isinstance(window.windows, UnsetType) else window.windows:
        yield from (span.first_minute, span.first_minute + span.minutes)


def _dates(window: TimeWindow) -> Iterator[int]:
    """Yield the minutes at which an exception begins, and after which it has ended."""
    for first, last in window.excepted_dates:
        for day in (first, last + timedelta(days=1)):
            yield int(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(window.zone)).timestamp()) // 60


def _weeks(zones: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield spells of minutes in which clocks stand to each other in each way in which they do in two years."""
    clocks = [ZoneInfo(zone) for zone in zones]
    days: dict[tuple[object, ...], int] = {}
    for day in range(_YEARS * 366 if len(zones) > 1 else _DAYS):
        minute = _NOON_MINUTE + day * DAY_MINUTES
        at = datetime.fromtimestamp(minute * 60, UTC)
        offsets = tuple(at.astimezone(clock).utcoffset() for clock in clocks)
        if days.setdefault(offsets, 0) < _DAYS:
            days[offsets] += 1
            yield minute, minute + DAY_MINUTES
