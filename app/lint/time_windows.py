"""Whether two time windows are ever open together."""

from datetime import UTC, datetime, timedelta
from itertools import product

from msgspec import UNSET

from app.model.time_windows import TimeWindow
from app.pdp.time_windows import compile_time_window

_YEAR = 2027
"""Any year will do: the check needs weeks of winter and summer, and both changes of the clock."""
_STEP_MINUTES = 30


def windows_meet(one: TimeWindow, other: TimeWindow) -> bool:
    """Whether both are ever open at the same moment."""
    if _zone(one) == _zone(other):
        days = _days(one) & _days(other)
        return bool(days and _hours(one) & _hours(other))
    checks = compile_time_window(one), compile_time_window(other)
    start = datetime(_YEAR, 1, 4, tzinfo=UTC)
    minutes = (
        int((start + timedelta(weeks=week, minutes=minute)).timestamp()) // 60
        for week, minute in product((0, 12, 13, 26, 43, 44), range(0, 7 * 24 * 60, _STEP_MINUTES))
    )
    return any(all(check(minute) is None for check in checks) for minute in minutes)


def _zone(window: TimeWindow) -> str:
    return "UTC" if window.timezone is UNSET else window.timezone


def _hours(window: TimeWindow) -> set[int]:
    return set(range(24)) if window.allowed_hours is UNSET else set(window.allowed_hours)


def _days(window: TimeWindow) -> set[int]:
    return set(range(7)) if window.allowed_days is UNSET else {day % 7 for day in window.allowed_days}
