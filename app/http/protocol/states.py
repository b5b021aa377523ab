"""What a connection can wait for, and how long; docs/threat-model.md has the table."""

from enum import StrEnum
from typing import Self

from app.http.protocol import bounds
from app.http.protocol.deadline import NEVER


class State(StrEnum):
    """The state of a connection. One request is under way at a time, so one state suffices.

    seconds: its time limit. drain_seconds: its time limit once the replica stops. While an answer is being made, only
    a client that does not read it has a time limit, that of UNREAD.
    """

    seconds: float
    drain_seconds: float

    def __new__(cls, value: str, seconds: float, drain_seconds: float) -> Self:
        state = str.__new__(cls, value)
        state._value_, state.seconds, state.drain_seconds = value, seconds, drain_seconds
        return state

    IDLE = "idle", bounds.IDLE_SECONDS, bounds.DRAIN_IDLE_SECONDS
    """Waiting for a request."""
    HEAD = "head", bounds.REQUEST_SECONDS, bounds.DRAIN_IDLE_SECONDS
    """Waiting for the rest of a head."""
    BODY = "body", bounds.REQUEST_SECONDS, bounds.DRAIN_REQUEST_SECONDS
    """Waiting for the rest of a body; the request may already be processed."""
    ANSWERING = "answering", NEVER, NEVER
    """The request has arrived, or broke off after processing began; its answer is being made."""
    UNREAD = "unread", bounds.UNREAD_SECONDS, bounds.DRAIN_REQUEST_SECONDS
    """The answer is complete, but the client has not read it yet."""
    MOVING = "moving", bounds.MOVING_SECONDS, bounds.MOVING_SECONDS
    """Its next request is for the other lane, to which it moves once the client has what was written here."""
    DISCARDING = "discarding", bounds.REQUEST_SECONDS, bounds.DRAIN_REQUEST_SECONDS
    """The answer was sent before all of the body had arrived; the rest of the body is dropped."""
    LINGERING = "lingering", bounds.LINGER_SECONDS, bounds.LINGER_SECONDS
    """The last answer is on its way; anything that arrives is dropped until the client closes."""
    CLOSED = "closed", NEVER, NEVER
    """Closed."""


# Bound to names, because in Python 3.11 an enumeration's attribute takes five times as long, and the hot path reads
# ten.
IDLE, HEAD, BODY, ANSWERING, UNREAD, MOVING, DISCARDING, LINGERING, CLOSED = State
