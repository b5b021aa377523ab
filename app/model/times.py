"""Times: integers inside (`_ms`, `_us` since the epoch), RFC 3339 UTC with milliseconds outside."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_LENGTH = 40
_MAX_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


def rfc3339(time_ms: int) -> str:
    """`time_ms` as `2026-11-20T12:34:56.789Z`; 0 to the end of the year 9999."""
    second, ms = divmod(time_ms, 1000)
    return f"{_to_the_second(second)}.{ms:03d}Z"


def parse_time_ms(text: str) -> int:
    """Milliseconds since the epoch of an ISO 8601 time; without an offset it is UTC.

    Digits finer than a millisecond are dropped. Raises ValueError with a sentence that shows the wanted form.
    """
    if text.isascii() and len(text) <= _MAX_LENGTH:
        try:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
            time_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
            if 0 <= time_ms <= _MAX_MS:
                return time_ms
        except (ValueError, OverflowError):
            pass
    raise ValueError("is not an ISO 8601 time from 1970 to 9999 such as 2026-11-20T12:34:56Z")


@lru_cache(maxsize=1024)
def _to_the_second(second: int) -> str:
    return f"{_EPOCH + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S}"
