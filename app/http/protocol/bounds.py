"""Limits on how much and how long a connection may occupy; a test compares them with docs/threat-model.md."""

from typing import Final

READ_BYTES: Final = 16 * 1024
"""The most bytes read from a socket at a time; as many may wait while the request before them is answered."""

HEAD_BYTES: Final = 32 * 1024
"""The most bytes of a request line and its fields; chunk extensions and trailers share what these leave."""

FIELDS_MAX: Final = 100
"""The most fields of a head, because a short field takes forty times its bytes."""

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
"""Seconds in which a client that stopped reading must take what a transport holds of its answer, about 48 KiB."""

MOVING_SECONDS: Final = 5.0
"""Seconds for the other lane to take a connection that moves to it; 503 after that."""

LINGER_SECONDS: Final = 5.0
"""Seconds from the last answer to the close, while arriving data is dropped: closing earlier would reset the answer."""

DRAIN_IDLE_SECONDS: Final = 1.0
"""Seconds for a request that may be on its way, and for an unread stream or export, when the replica stops."""

DRAIN_REQUEST_SECONDS: Final = 10.0
"""Seconds for a body that is arriving, and for an unread answer, when the replica stops."""
