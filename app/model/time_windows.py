"""Time windows: hours and days in a time zone."""

import zoneinfo
from functools import cache
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.text import FieldError

_ZONE_NAME = "^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$"
Hour = Annotated[int, Meta(ge=0, le=23)]
Day = Annotated[int, Meta(ge=0, le=7)]


class TimeWindow(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Hours and days in a zone; a list that is left out does not restrict.

    allowed_hours: Hours of the day, 0 to 23: hour h is h:00:00 to h:59:59 local time.
    allowed_days: Days of the week: 1 is Monday, 0 and 7 are Sunday.
    timezone: IANA time zone; UTC if left out.
    """

    allowed_hours: Annotated[list[Hour], Meta(min_length=1, max_length=24)] | UnsetType = UNSET
    allowed_days: Annotated[list[Day], Meta(min_length=1, max_length=8)] | UnsetType = UNSET
    timezone: (
        Annotated[str, Meta(extra_json_schema={"format": "iana-time-zone", "pattern": _ZONE_NAME})] | UnsetType
    ) = UNSET

    def __post_init__(self) -> None:
        if self.allowed_hours is UNSET and self.allowed_days is UNSET:
            raise FieldError("allowedHours", "give allowedHours, allowedDays or both")
        if self.timezone is not UNSET and self.timezone not in _zones():
            raise FieldError("timezone", f'"{self.timezone[:64]}" is not an IANA time zone such as Europe/Paris')


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
