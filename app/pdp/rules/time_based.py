"""Time windows in a time zone, evaluated for an instant."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from msgspec import UNSET, UnsetType

from app.model.rules import TimeBased
from app.model.time_windows import DAY_MINUTES, TimeWindow
from app.pdp.clauses import clipped
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
        yield f"only in {_described(window)} ({window.zone})"

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        condition = compiled.demands.condition
        is_open = condition is not None and condition.time is not None and condition.time(known.minute) is None
        return PASS if is_open else FAIL, EITHER


def compile_time_window(window: TimeWindow) -> TimeCheck:
    """The check of one window. Its answer is the same throughout a minute of UTC.

    In every zone since 1972, hours and changes of the offset begin on a whole minute of UTC. Converting UTC to local
    time always has one answer; the reverse has none or two when clocks change.
    """
    zone, wanted = ZoneInfo(window.zone), _described(window)
    is_open, excepted = _is_open(window), window.excepted_dates
    latest: tuple[int, str | None] = (-1, None)

    def check(minute: int) -> str | None:
        nonlocal latest
        if latest[0] == minute:
            return latest[1]
        local = datetime.fromtimestamp(minute * 60, UTC).astimezone(zone)
        day = local.isoweekday() % 7
        reason = None
        if not is_open(local.hour * 60 + local.minute, day):
            reason = f"It is {_DAYS[day]} {local:%H:%M} in {window.zone}, outside the window ({wanted})"
        elif any(first <= local.date() <= last for first, last in excepted):
            reason = f"It is {local.date()} in {window.zone}, a day that the window excepts ({wanted})"
        latest = (minute, reason)
        return reason

    return check


def _is_open(window: TimeWindow) -> Callable[[int, int], bool]:
    """A test of a minute of the day and a day, 0 to 6 from Sunday, without the exceptions."""
    if isinstance(window.windows, UnsetType):
        hours, weekdays = window.hours, window.weekdays
        return lambda minute, day: minute // 60 in hours and day in weekdays
    spans = [(each.first_minute, each.minutes, each.weekdays) for each in window.windows]

    def test(minute: int, day: int) -> bool:
        # What began yesterday is yesterday's.
        return any(
            (day in weekdays and 0 <= minute - first < length)
            or ((day - 1) % 7 in weekdays and minute + DAY_MINUTES - first < length)
            for first, length, weekdays in spans
        )

    return test


def _described(window: TimeWindow) -> str:
    parts = []
    if window.allowed_hours is not UNSET:
        parts.append("hours " + _ranges(window.hours))
    if window.allowed_days is not UNSET:
        parts.append(_names(window.weekdays))
    for span in () if isinstance(window.windows, UnsetType) else window.windows:
        days = "" if span.days is UNSET else f"{_names(span.weekdays)} "
        parts.append(f"{days}{span.start}-{span.end}")
    if not isinstance(window.excepted, UnsetType):
        parts.append(f"not on {', '.join(window.excepted)}")
    return clipped("; ".join(parts))


def _names(weekdays: frozenset[int]) -> str:
    # Monday first, as in a working week.
    return ", ".join(_DAYS[day][:3] for day in sorted(weekdays, key=lambda day: (day - 1) % 7))


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
