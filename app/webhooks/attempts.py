"""Failed events: the attempts so far, the last error, and the time of the next attempt."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from app.model.fields import Count, Timestamp
from app.model.times import rfc3339

FIRST_MS, LONGEST_MS = 5_000, 4 * 3600 * 1000
"""The wait between the first two attempts, and the longest wait; each is twice as long as the one before."""
PARK_AFTER_MS = 24 * 3600 * 1000
_ERROR_MAX = 200


class Attempts(Struct, frozen=True):
    """The number of attempts to send an event, the time of the first, and the error of the last."""

    attempts: int
    since_ms: int
    error: str

    def failed(self, now_ms: int, error: str) -> "Attempts":
        """The record after one more failed attempt."""
        on_one_line = " ".join(error.split())[:_ERROR_MAX]
        return Attempts(self.attempts + 1, self.since_ms or now_ms, on_one_line)

    @property
    def written(self) -> str:
        return f"{self.attempts} {self.since_ms} {self.error}"

    def next_ms(self, now_ms: int, quiet_until_ms: int = 0) -> int | None:
        """The time of the next attempt, never earlier than the receiver asked; None after a day of attempts."""
        if now_ms - self.since_ms >= PARK_AFTER_MS:
            return None
        return max(quiet_until_ms, now_ms + int(min(FIRST_MS * 2 ** min(self.attempts - 1, 30), LONGEST_MS)))


def attempts_of(written: str | None) -> Attempts:
    """The attempts from their stored form."""
    attempts, since_ms, error = (written or "0 0 ").split(" ", 2)
    return Attempts(int(attempts), int(since_ms), error)


DELIVERIES_KEPT = 50


class DeliveryView(Struct, frozen=True, kw_only=True, rename="camel"):
    """One attempt to deliver an event; neither the event's content nor the receiver's answer is kept.

    event_id: The event's id, as in the header webhook-id.
    type: What happened.
    at: When the attempt ended, by the store's clock.
    delivered: Whether the receiver answered with a status from 200 to 299.
    status: The status of its answer; null if there was none.
    attempt: The number of the attempt for this event, from 1.
    milliseconds: How long it took.
    error: Why it was not delivered; empty if it was.
    """

    event_id: str
    type: str
    at: Timestamp
    delivered: bool
    status: int | None
    attempt: Count
    milliseconds: Count
    error: str


class Unsent(Struct, frozen=True):
    """An undelivered event. at_ms: when it is retried; for a parked one, when it was given up."""

    id: str
    body: str
    is_parked: bool
    at_ms: int
    attempts: Attempts


class UnsentView(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event that has not been delivered so far.

    id: As in the header webhook-id.
    type: What happened.
    status: `waiting` = it will be retried; `parked` = it was tried for a day, and waits for a manual retry.
    attempts: How often it was tried.
    error: The error of the last attempt.
    since: When it was first tried.
    next_attempt_at: When it will be retried; null if it is parked.
    """

    id: str
    type: str
    status: Annotated[str, Meta(extra_json_schema={"enum": ["waiting", "parked"]})]
    attempts: Count
    error: str
    since: Timestamp | None
    next_attempt_at: Timestamp | None

    @classmethod
    def of(cls, unsent: Unsent) -> "UnsentView":
        attempts = unsent.attempts
        return cls(
            id=unsent.id,
            type=msgspec.json.decode(unsent.body)["type"],
            status="parked" if unsent.is_parked else "waiting",
            attempts=attempts.attempts,
            error=attempts.error,
            since=rfc3339(attempts.since_ms) if attempts.since_ms else None,
            next_attempt_at=None if unsent.is_parked else rfc3339(unsent.at_ms),
        )
