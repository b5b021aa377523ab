"""How much and how long a connection may keep us: docs/threat-model.md has the table, and a test compares."""

from typing import Final

READ_BYTES: Final = 32 * 1024
"""Taken from a socket at a time; as much may wait while the request before it is answered."""

HEAD_BYTES: Final = 32 * 1024
"""Of a request line and its fields; of chunk extensions and trailers, what these have left over."""

FIELDS_MAX: Final = 100
"""Fields of a head: a short one costs forty times its bytes."""

LINE_BYTES: Final = 4 * 1024
"""Of one chunk's size line, or of one trailer."""

BODY_AHEAD_BYTES: Final = 32 * 1024
"""Of a body that nobody has asked for yet."""

REST_BYTES: Final = 32 * 1024
"""Of a body that may still come once its request has been answered; if more is announced, the connection ends."""

UNREAD_BYTES: Final = 64 * 1024 * 1024
"""Of answers that clients leave unread, on all connections of a replica; beyond it, those unread longest are closed."""

FIRST_SECONDS: Final = 30.0
"""From connecting to the first byte."""

REQUEST_SECONDS: Final = 30.0
"""From a request's first byte to its last: head, body and trailers."""

IDLE_SECONDS: Final = 75.0
"""Between requests; longer than balancers keep a connection, so that they close it and we do not."""

UNREAD_SECONDS: Final = 30.0
"""In which a client that leaves an answer unread must take what a transport holds of it, about 48 KiB."""

LINGER_SECONDS: Final = 5.0
"""From the last answer to the close, while what still comes is dropped: closing earlier would reset the answer away."""

DRAIN_IDLE_SECONDS: Final = 1.0
"""For a request that may be on its way when the replica stops, and for who leaves a stream or an export unread then."""

DRAIN_REQUEST_SECONDS: Final = 10.0
"""For a body that is coming, and an answer that is not read, when the replica stops."""
