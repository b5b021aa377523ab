"""Dates and times of RFC 3339 that can be compared."""

import re
from datetime import UTC, datetime, timedelta
from datetime import date as calendar_date

from app.language.ambiguous import Ambiguous

Moment = tuple[str, int, str]
"""Kind (`date` or `time`), whole seconds or days, and the digits of the fraction. Moments of one kind sort by time."""

MAX_LENGTH = 64
_form = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?([Zz]|([+-])([0-9]{2}):([0-9]{2})))?"
).fullmatch
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOURS, _MINUTES = 24, 60


def moment_of(text: str) -> Moment:
    """The instant of a date-time, or the day of a full-date. Raises Ambiguous.

    Any number of fractional digits is accepted. A time without an offset names no instant, and second 60 is refused.
    """
    match = _form(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise Ambiguous("is not a date or time of RFC 3339 such as 2026-11-20 or 2026-11-20T12:34:56Z")
    day, time, fraction, zone, sign, hours, minutes = match.groups()
    try:
        if time is None:
            return "date", calendar_date.fromisoformat(day).toordinal(), ""
        local = datetime.fromisoformat(f"{day}T{time}+00:00")
    except ValueError:
        raise Ambiguous("is a date or time that does not exist") from None
    seconds = (local - _EPOCH) // timedelta(seconds=1)
    if zone not in ("Z", "z"):
        if int(hours) >= _HOURS or int(minutes) >= _MINUTES:
            raise Ambiguous("has an offset that does not exist")
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds += offset if sign == "-" else -offset
    return "time", seconds, (fraction or "").rstrip("0")
