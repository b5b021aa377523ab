"""The states of a connection, with their limits on time and memory; a test compares docs/threat-model.md."""

from enum import StrEnum
from typing import Final, Self

NEVER: Final = float("inf")

READ_BYTES: Final = 16 * 1024
"""The most bytes read from a socket at a time; as many may wait while the request before them is answered."""

HEAD_BYTES: Final = 32 * 1024
"""The most bytes of a request line and its fields; chunk extensions and trailers share what these leave."""

FIELDS_MAX: Final = 100
"""The most fields of a head: in memory, a short field takes forty times its bytes."""

LINE_BYTES: Final = 4 * 1024
"""The most bytes of a chunk's size line, or of a trailer."""

BODY_AHEAD_BYTES: Final = 32 * 1024
"""The most bytes of a body read before anything asks for it."""

REST_BYTES: Final = 32 * 1024
"""The most bytes of a body still to come once its request is answered; if more is announced, the connection ends."""

UNREAD_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of unread answers on all connections of a lane; beyond that, those unread longest are closed."""

FIRST_SECONDS: Final = 30.0
"""Seconds from connecting to the first byte."""

REQUEST_SECONDS: Final = 30.0
"""Seconds from a request's first byte to its last: head, body and trailers."""

IDLE_SECONDS: Final = 75.0
"""Seconds between requests; longer than load balancers keep a connection, so that they close it first."""

UNREAD_SECONDS: Final = 30.0
"""Seconds in which a client that stopped reading must read the buffered part of its answer, about 48 KiB."""

MOVING_SECONDS: Final = 5.0
"""Seconds for the other lane to take a connection that moves to it; 503 after that."""

LINGER_SECONDS: Final = 5.0
"""Seconds from the last answer to the close, while arriving data is dropped: closing earlier would reset the answer."""

DRAIN_IDLE_SECONDS: Final = 1.0
"""Seconds for a request that may be on its way, and for an unread stream or export, when the replica stops."""

DRAIN_REQUEST_SECONDS: Final = 10.0
"""Seconds for a body that is arriving, and for an unread answer, when the replica stops."""


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

    IDLE = "idle", IDLE_SECONDS, DRAIN_IDLE_SECONDS
    """Waiting for a request."""
    HEAD = "head", REQUEST_SECONDS, DRAIN_IDLE_SECONDS
    """Waiting for the rest of a head."""
    BODY = "body", REQUEST_SECONDS, DRAIN_REQUEST_SECONDS
    """Waiting for the rest of a body; the request may already be processed."""
    ANSWERING = "answering", NEVER, NEVER
    """The request has arrived, or broke off after processing began; its answer is being made."""
    UNREAD = "unread", UNREAD_SECONDS, DRAIN_REQUEST_SECONDS
    """The answer is complete, but the client has not read it yet."""
    MOVING = "moving", MOVING_SECONDS, MOVING_SECONDS
    """Its next request is for the other lane; it moves there once the client has read what was written here."""
    DISCARDING = "discarding", REQUEST_SECONDS, DRAIN_REQUEST_SECONDS
    """The answer was sent before all of the body had arrived; the rest of the body is dropped."""
    LINGERING = "lingering", LINGER_SECONDS, LINGER_SECONDS
    """The last answer is on its way; anything that arrives is dropped until the client closes."""
    CLOSED = "closed", NEVER, NEVER
    """Closed."""


# Bound to names, because in Python 3.11 an enumeration's attribute takes five times as long, and the hot path reads
# ten.
IDLE, HEAD, BODY, ANSWERING, UNREAD, MOVING, DISCARDING, LINGERING, CLOSED = State
