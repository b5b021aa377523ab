"""Shared by buckets and sessions: the time by which they count, and how certain their answers are."""

from enum import Enum


class Room(Enum):
    """Whether a quota has room for a call."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    CROWDED = "crowded"
    """The rule has as many live buckets as one agent may have."""


class Timeline:
    """The time by which quotas count: it never runs backwards, even when the store's clock did.

    now_ms: the current time. slack_ms: the possible error of a duration, beyond the millisecond to which the log
    rounds: 1 ms for each time that the clock stepped back.
    """

    def __init__(self) -> None:
        self._latest_ms = 0
        self._skew_ms = 0
        self.slack_ms = 0
        self.now_ms = 0

    def advance(self, time_ms: int) -> None:
        """Move on to the next entry, which was made at this time by the store's clock."""
        if time_ms < self._latest_ms:
            self._skew_ms += self._latest_ms - time_ms
            self.slack_ms += 1
        self._latest_ms = time_ms
        self.now_ms = time_ms + self._skew_ms
