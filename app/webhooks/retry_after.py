"""Reads the header Retry-After: how long a receiver wants no events, in seconds or as a date."""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import ceil

from app.webhooks.attempts import LONGEST_MS

MOST_S = LONGEST_MS // 1000
"""The longest wait, whatever the receiver asks for: by mistake, it could ask for years."""
_ASKING = frozenset({429, 503})
_LONGEST_TEXT = 64


def wait_asked_for(status: int, headers: Iterable[tuple[bytes, bytes]], now: datetime) -> int | None:
    """The wait in seconds from `now`, at most `MOST_S`; None if the answer asks for none, or not in a valid form."""
    if status not in _ASKING:
        return None
    given = next((value for name, value in headers if name.lower() == b"retry-after"), b"")
    text = given.decode("latin-1").strip()
    if not text or len(text) > _LONGEST_TEXT:
        return None
    if text.isascii() and text.isdigit():
        return min(int(text), MOST_S)
    try:
        at = parsedate_to_datetime(text)
        seconds = ceil((at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0), MOST_S)
