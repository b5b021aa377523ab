"""Time windows: hours and days in a time zone, evaluated for an instant."""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from msgspec import UNSET

from app.model.rules import TimeBased
from app.model.time_windows import TimeWindow
from app.pdp.constraints import IsSecret
from app.pdp.rules.rule_type import (
    EITHER,
    FAIL,
    PASS,
    BeforeCalls,
    CompiledRule,
    Demands,
    PlacedRule,
    RuleType,
    TimeCheck,
)

_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


class TimeBasedType(RuleType[TimeBased]):
    def compile(self, placed: PlacedRule[TimeBased]) -> Demands:
        return Demands(placed.condition(time=compile_time_window(placed.rule.time_window)))

    def words(self, rule: TimeBased, is_secret: IsSecret) -> Iterator[str]:
        window = rule.time_window
        yield f"only in {_described(*_hours_and_days(window))} ({_zone_of(window)})"

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        condition = compiled.demands.condition
        is_open = condition is not None and condition.time is not None and condition.time(known.minute) is None
        return PASS if is_open else FAIL, EITHER


def compile_time_window(window: TimeWindow) -> TimeCheck:
    """The check of one window. Its answer is the same throughout a minute of UTC.

    In every zone since 1972, hours and changes of the offset begin on a whole minute of UTC. Converting UTC to local
    time always has one answer; the reverse has none or two when clocks change.
    """
    name = _zone_of(window)
    zone = ZoneInfo(name)
    hours, days = _hours_and_days(window)
    wanted = _described(hours, days)
    latest: tuple[int, str | None] = (-1, None)

    def check(minute: int) -> str | None:
        nonlocal latest
        if latest[0] == minute:
            return latest[1]
        local = datetime.fromtimestamp(minute * 60, UTC).astimezone(zone)
        day = local.isoweekday() % 7
        inside = (hours is None or local.hour in hours) and (days is None or day in days)
        reason = None
        if not inside:
            reason = f"It is {_DAYS[day]} {local:%H:%M} in {name}, outside the window ({wanted})"
        latest = (minute, reason)
        return reason

    return check


def _zone_of(window: TimeWindow) -> str:
    return "UTC" if window.timezone is UNSET else window.timezone


def _hours_and_days(window: TimeWindow) -> tuple[frozenset[int] | None, frozenset[int] | None]:
    """Hours 0 to 23, and days 0 to 6 from Sunday; None = any."""
    hours = None if window.allowed_hours is UNSET else frozenset(window.allowed_hours)
    days = None if window.allowed_days is UNSET else frozenset(day % 7 for day in window.allowed_days)
    return hours, days


def _described(hours: frozenset[int] | None, days: frozenset[int] | None) -> str:
    parts = []
    if hours is not None:
        parts.append("hours " + _ranges(hours))
    if days is not None:
        # Monday first, as in a working week.
        parts.append(", ".join(_DAYS[day][:3] for day in sorted(days, key=lambda day: (day - 1) % 7)))
    return "; ".join(parts)


def _ranges(numbers: frozenset[int]) -> str:
    """`{9, 10, 11, 14}` as `9-11, 14`."""
    ordered = sorted(numbers)
    spans: list[list[int]] = []
    for number in ordered:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans)
