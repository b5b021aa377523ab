"""What a connection can wait for; docs/threat-model.md says how long in each state."""

from enum import StrEnum


class State(StrEnum):
    """Where a connection stands. One request is under way at a time, so one state says it all."""

    IDLE = "idle"
    """A request is waited for."""
    HEAD = "head"
    """The rest of a head is waited for."""
    BODY = "body"
    """The rest of a body is waited for; who answers may be at work already."""
    ANSWERING = "answering"
    """The request has come, or was broken off after work on it began, and its answer is being made."""
    UNREAD = "unread"
    """The answer is complete, and the client has yet to read it."""
    DISCARDING = "discarding"
    """The answer was given before all of the body had come; the rest of that is dropped."""
    LINGERING = "lingering"
    """The last answer is on its way; what still comes is dropped until the client closes."""
    CLOSED = "closed"
    """It has ended."""


# By name: an attribute of an enumeration takes Python 3.11 five times as long, and the hot path looks at ten.
IDLE, HEAD, BODY, ANSWERING, UNREAD, DISCARDING, LINGERING, CLOSED = State
