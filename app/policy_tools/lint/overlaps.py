"""Overlaps of tool patterns (exact names, `prefix*`, `*`) and of time windows."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec import UnsetType

from app.model.time_windows import DAY_MINUTES, TimeWindow


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


_WEEK_MINUTES = 7 * DAY_MINUTES
_MONDAYS = [datetime(2027, 1, 4, tzinfo=UTC) + timedelta(weeks=week) for week in range(52)]
"""A year's weeks; any year will do, for it needs only the seasons' offsets."""


def windows_meet(one: TimeWindow, other: TimeWindow) -> bool:
    """True if both are ever open at the same moment of an ordinary week, without their exceptions."""
    zones = [ZoneInfo(each.zone) for each in (one, other)]
    offsets = {tuple(_offset_minutes(monday, zone) for zone in zones) for monday in _MONDAYS}
    minutes = [_open_minutes(each) for each in (one, other)]
    return any(_earlier(minutes[0], offset) & _earlier(minutes[1], other_offset) for offset, other_offset in offsets)


def _open_minutes(window: TimeWindow) -> int:
    """A bit for each minute of a local week that begins on Sunday; set if the window is open."""
    if isinstance(window.windows, UnsetType):
        spans = [(day, hour * 60, 60) for day in window.weekdays for hour in window.hours]
    else:
        spans = [(day, each.first_minute, each.minutes) for each in window.windows for day in each.weekdays]
    found = 0
    for day, first, length in spans:
        found |= ((1 << length) - 1) << (day * DAY_MINUTES + first)
    return (found | found >> _WEEK_MINUTES) & _WHOLE_WEEK


_WHOLE_WEEK = (1 << _WEEK_MINUTES) - 1


def _earlier(minutes: int, by: int) -> int:
    """The same minutes, earlier by so many; what is before the week's beginning is at its end."""
    by %= _WEEK_MINUTES
    return (minutes >> by | minutes << (_WEEK_MINUTES - by)) & _WHOLE_WEEK


def _offset_minutes(moment: datetime, zone: ZoneInfo) -> int:
    return int((moment.astimezone(zone).utcoffset() or timedelta()).total_seconds()) // 60
