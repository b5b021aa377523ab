"""Overlaps of tool patterns (exact names, `prefix*`, `*`) and of time windows."""

from collections.abc import Iterable, Iterator
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
    return inner_text.startswith(outer_text) and (inner_open or inner_text != outer_text)


class Patterns:
    """Some tool patterns, indexed: whether they cover another takes no longer if there are many.

    steps: What one look-up costs at most, counted in comparisons.
    """

    __slots__ = ("_exact", "_lengths", "_prefixes", "patterns", "steps")

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = list(dict.fromkeys(patterns))
        self._exact = frozenset(each for each in self.patterns if not each.endswith("*"))
        self._prefixes = frozenset(each[:-1] for each in self.patterns if each.endswith("*"))
        self._lengths = sorted({len(each) for each in self._prefixes})
        self.steps = 1 + len(self._lengths)

    def covering(self, pattern: str) -> str | None:
        """A single one of them that covers every tool that the pattern covers; None if none does."""
        if pattern in self._exact:
            return pattern
        text, is_open = _parts(pattern)
        for length in self._lengths:
            prefix = text[:length]
            if prefix in self._prefixes and len(prefix) == length and (is_open or text != prefix):
                return f"{prefix}*"
        return None

    def first_uncovered(self, inner: "Patterns") -> str | None:
        """The first of the others that no single one of these covers; None if all are covered."""
        return next((each for each in inner.patterns if self.covering(each) is None), None)

    def meeting(self, others: "Patterns") -> Iterator[str]:
        """Yield each of these that covers a tool that one of the others covers, too."""
        for each in self.patterns:
            if others.covering(each) is not None or (each.endswith("*") and others.have_within(each)):
                yield each

    def have_within(self, pattern: str) -> bool:
        """True if the pattern covers every tool of a single one of them."""
        return any(pattern_within(each, pattern) for each in self.patterns)


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
