"""Overlaps of tool patterns (exact names, `prefix*`, `*`) and of time windows."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product

from msgspec import UNSET

from app.model.time_windows import TimeWindow
from app.pdp.rules.time_based import compile_time_window


def _parts(pattern: str) -> tuple[str, bool]:
    """(fixed part, True if more may follow it)."""
    return (pattern[:-1], True) if pattern.endswith("*") else (pattern, False)


def pattern_within(inner: str, outer: str) -> bool:
    """True if `outer` covers every tool that `inner` covers."""
    (inner_text, inner_open), (outer_text, outer_open) = _parts(inner), _parts(outer)
    if not outer_open:
        return inner == outer
    return inner_text.startswith(outer_text) and (inner_open or _is_longer(inner_text, outer_text))


def patterns_meet(one: str, other: str) -> bool:
    """True if both cover some tool."""
    (text, is_open), (other_text, other_open) = _parts(one), _parts(other)
    if is_open and other_open:
        return text.startswith(other_text) or other_text.startswith(text)
    return pattern_within(one, other) or pattern_within(other, one)


def tools_meet(some: Iterable[str], others: Sequence[str]) -> bool:
    """True if both lists of patterns cover some tool."""
    return any(patterns_meet(one, other) for one in some for other in others)


def first_not_within(inner: Iterable[str], outer: Sequence[str]) -> str | None:
    """The first pattern of `inner` that no single pattern of `outer` covers; None if all are covered."""
    return next((one for one in inner if not any(pattern_within(one, other) for other in outer)), None)


def _is_longer(name: str, prefix: str) -> bool:
    # `file.*` does not cover `file.`, a group without a tool name; `get_*` does cover `get_`.
    return len(name) > len(prefix) or not prefix.endswith(".")


_YEAR = 2027
"""Any year will do: the check needs weeks of winter and summer, and both changes of the clock."""
_STEP_MINUTES = 30


def windows_meet(one: TimeWindow, other: TimeWindow) -> bool:
    """True if both are ever open at the same moment."""
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
