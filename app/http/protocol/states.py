"""What a connection can wait for; docs/threat-model.md says how long in each state."""

from enum import StrEnum


class State(StrEnum):
    """The state of a connection. One request is under way at a time, so one state suffices."""

    IDLE = "idle"
    """Waiting for a request."""
    HEAD = "head"
    """Waiting for the rest of a head."""
    BODY = "body"
    """Waiting for the rest of a body; the request may already be processed."""
    ANSWERING = "answering"
    """The request has arrived, or broke off after processing began; its answer is being made."""
    UNREAD = "unread"
    """The answer is complete, but the client has not read it yet."""
    MOVING = "moving"
    """Its next request is for the other lane, to which it moves once the client has what was written here."""
    DISCARDING = "discarding"
    """The answer was sent before all of the body had arrived; the rest of the body is dropped."""
    LINGERING = "lingering"
    """The last answer is on its way; anything that arrives is dropped until the client closes."""
    CLOSED = "closed"
    """Closed."""


# Bound to names, because in Python 3.11 an enumeration's attribute takes five times as long, and the hot path reads
# ten.
IDLE, HEAD, BODY, ANSWERING, UNREAD, MOVING, DISCARDING, LINGERING, CLOSED = State
