"""Time windows: hours, days and spans of time in a time zone, and the dates on which they do not open."""

import re
import zoneinfo
from datetime import date
from functools import cache
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.model.text import FieldError

_ZONE_NAME = "^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$"
_START = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
_END = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"
_DATES = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(/[0-9]{4}-[0-9]{2}-[0-9]{2})?$"
DAY_MINUTES = 24 * 60
Zone = Annotated[str, Meta(extra_json_schema={"format": "iana-time-zone", "pattern": _ZONE_NAME})]
"""The name of a time zone; `require_zone` checks it."""

Hour = Annotated[int, Meta(ge=0, le=23)]
Day = Annotated[int, Meta(ge=0, le=7)]
Days = Annotated[list[Day], Meta(min_length=1, max_length=8)]


class OpenSpan(Struct, frozen=True, forbid_unknown_fields=True):
    """From one time of day to another, on some days. If the second is the earlier one, it is on the day after.

    start: The first minute, such as 22:00.
    end: The minute before which it ends, such as 06:00; 24:00 is the end of the day.
    days: The days on which it begins: 1 is Monday, 0 and 7 are Sunday; every day if left out.
    """

    start: Annotated[str, Meta(extra_json_schema={"pattern": _START})] = field(name="from")
    end: Annotated[str, Meta(extra_json_schema={"pattern": _END})] = field(name="to")
    days: Days | UnsetType = UNSET

    def __post_init__(self) -> None:
        for name, text, pattern in (("from", self.start, _START), ("to", self.end, _END)):
            if not re.fullmatch(pattern, text):
                raise FieldError(name, f'"{text[:20]}" is not a time of day such as 09:30')
        if self.start == self.end:
            raise FieldError("to", f'is "{self.end}" like `from`; a whole day is from 00:00 to 24:00')

    @property
    def first_minute(self) -> int:
        """The minute of the day in which it begins."""
        return _minute_of(self.start)

    @property
    def minutes(self) -> int:
        """How long it is, by a clock that nobody changes."""
        return (_minute_of(self.end) - self.first_minute - 1) % DAY_MINUTES + 1

    @property
    def weekdays(self) -> frozenset[int]:
        """The days on which it begins, 0 to 6 from Sunday."""
        return weekdays_of(self.days)


class TimeWindow(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Times in a zone; what is left out does not restrict.

    allowed_hours: Hours of the day, 0 to 23: hour h is h:00:00 to h:59:59 local time.
    allowed_days: Days of the week: 1 is Monday, 0 and 7 are Sunday.
    windows: Spans of time, in place of the two; it is open in any of them.
    excepted: Local dates on which it does not open, such as 2026-12-25, or 2026-12-24/2027-01-02 with both ends.
    timezone: IANA time zone; UTC if left out.
    """

    allowed_hours: Annotated[list[Hour], Meta(min_length=1, max_length=24)] | UnsetType = UNSET
    allowed_days: Days | UnsetType = UNSET
    windows: Annotated[list[OpenSpan], Meta(min_length=1, max_length=50)] | UnsetType = UNSET
    excepted: (
        Annotated[list[Annotated[str, Meta(extra_json_schema={"pattern": _DATES})]], Meta(min_length=1, max_length=100)]
        | UnsetType
    ) = field(name="except", default=UNSET)
    timezone: Zone | UnsetType = UNSET

    def __post_init__(self) -> None:
        by_lists = self.allowed_hours is not UNSET or self.allowed_days is not UNSET
        if not by_lists and self.windows is UNSET and self.excepted is UNSET:
            raise FieldError("allowedHours", "give allowedHours, allowedDays, windows or except")
        if by_lists and self.windows is not UNSET:
            raise FieldError("windows", "has times and days of its own; leave out allowedHours and allowedDays")
        for index, text in enumerate(() if isinstance(self.excepted, UnsetType) else self.excepted):
            try:
                first, last = _dates_of(text)
            except ValueError:
                message = f'"{text[:40]}" is neither a date such as 2026-12-25 nor two with a slash between'
                raise FieldError(f"except[{index}]", message) from None
            if last < first:
                raise FieldError(f"except[{index}]", f'"{text}" ends before it begins')
        require_zone(self.timezone)

    @property
    def zone(self) -> str:
        """The name of its zone."""
        return "UTC" if self.timezone is UNSET else self.timezone

    @property
    def hours(self) -> frozenset[int]:
        """The hours that `allowed_hours` leaves."""
        return frozenset(range(24)) if self.allowed_hours is UNSET else frozenset(self.allowed_hours)

    @property
    def weekdays(self) -> frozenset[int]:
        """The days that `allowed_days` leaves, 0 to 6 from Sunday."""
        return weekdays_of(self.allowed_days)

    @property
    def excepted_dates(self) -> list[tuple[date, date]]:
        """First and last day of each exception."""
        return [] if isinstance(self.excepted, UnsetType) else [*map(_dates_of, self.excepted)]


def require_zone(name: str | UnsetType) -> None:
    """Raise FieldError unless it is the name of a time zone, or left out."""
    if not isinstance(name, UnsetType) and name not in _zones():
        raise FieldError("timezone", f'"{name[:64]}" is not an IANA time zone such as Europe/Paris')


def weekdays_of(days: list[int] | UnsetType) -> frozenset[int]:
    """Days 0 to 6 from Sunday; all if none are given."""
    return frozenset(range(7)) if isinstance(days, UnsetType) else frozenset(day % 7 for day in days)


def _minute_of(time: str) -> int:
    return int(time[:2]) * 60 + int(time[3:])


def _dates_of(text: str) -> tuple[date, date]:
    """Raises ValueError for what is no date, or not in this form."""
    if not re.fullmatch(_DATES, text):
        raise ValueError(text)
    first, _, last = text.partition("/")
    return date.fromisoformat(first), date.fromisoformat(last or first)


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
