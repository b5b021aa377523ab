"""Times: integers inside (`_ms`, `_us` since the epoch), RFC 3339 UTC with milliseconds outside."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_LENGTH = 40
MINUTE_US = 60_000_000
SPAN_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_whole_week = re.compile(r"[0-9]{4}-?W[0-9]{2}", re.ASCII).fullmatch
_ago = re.compile(r"-([0-9]{1,9})([smhdw])", re.ASCII).fullmatch
_ENDS = tuple(f".{ms:03d}Z" for ms in range(1000))
LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


def rfc3339(time_ms: int) -> str:
    """`time_ms` as `2026-11-20T12:34:56.789Z`; 0 to the end of the year 9999."""
    second, ms = divmod(time_ms, 1000)
    return _to_the_second(second) + _ENDS[ms]


def parse_time_ms(text: str, *, end: bool = False) -> int:
    """Milliseconds since the epoch of an ISO 8601 time; without an offset it is UTC.

    A date means its first millisecond, or its last with `end`. Digits finer than a millisecond are dropped. Raises
    ValueError with a sentence that shows the expected form.
    """
    if text.isascii() and len(text) <= _MAX_LENGTH and not _whole_week(text):
        try:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
            time_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
            if 0 <= time_ms <= LAST_MS:
                return time_ms + SPAN_MS["d"] - 1 if end and _is_date(text) else time_ms
        except (ValueError, OverflowError):
            pass
    raise ValueError("is not an ISO 8601 time from 1970 to 9999 such as 2026-11-20T12:34:56Z")


def parse_moment_ms(text: str, now_ms: int, *, end: bool = False) -> int:
    """Parse a timestamp, a date, a word (`today`) or a relative span (`-24h`) into ms since the epoch.

    `now`; `today`, `yesterday` and dates, which are UTC and mean their first millisecond, or their last with `end`;
    `-24h`: 24 hours before now. Raises ValueError with a sentence that shows all forms.
    """
    if text == "now":
        return now_ms
    if match := _ago(text):
        return max(0, now_ms - int(match[1]) * SPAN_MS[match[2]])
    days_ago = {"today": 0, "yesterday": 1}.get(text)
    if days_ago is not None:
        text = rfc3339(max(0, now_ms - days_ago * SPAN_MS["d"])).partition("T")[0]
    try:
        return parse_time_ms(text, end=end)
    except ValueError:
        sentence = (
            "is not a time such as 2026-11-20T12:34:56Z, 2026-11-20, yesterday, today, now or -24h (s, m, h, d, w)"
        )
        raise ValueError(sentence) from None


def _is_date(text: str) -> bool:
    """True of a time without a time of day, in whichever of ISO 8601's spellings."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1024)
def _to_the_second(second: int) -> str:
    return f"{_EPOCH + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S}"
