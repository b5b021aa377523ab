"""Limits on how much and how long a connection may occupy; a test compares them with docs/threat-model.md."""

from typing import Final

READ_BYTES: Final = 32 * 1024
"""The most bytes read from a socket at a time; as many may wait while the request before them is answered."""

HEAD_BYTES: Final = 32 * 1024
"""For a request line and its fields; chunk extensions and trailers share what these leave over."""

FIELDS_MAX: Final = 100
"""The most fields of a head: a short one costs forty times its bytes."""

LINE_BYTES: Final = 4 * 1024
"""For one chunk's size line, or one trailer."""

BODY_AHEAD_BYTES: Final = 32 * 1024
"""For the part of a body that nobody has asked for yet."""

REST_BYTES: Final = 32 * 1024
"""For the part of a body still to come once its request is answered; if more is announced, the connection ends."""

UNREAD_BYTES: Final = 64 * 1024 * 1024
"""For unread answers on all connections of a replica; beyond it, those unread longest are closed."""

FIRST_SECONDS: Final = 30.0
"""From connecting to the first byte."""

REQUEST_SECONDS: Final = 30.0
"""From a request's first byte to its last: head, body and trailers."""

IDLE_SECONDS: Final = 75.0
"""Between requests; longer than load balancers keep a connection, so that they close it first."""

UNREAD_SECONDS: Final = 30.0
"""The time in which a client that stopped reading must take what a transport holds of its answer, about 48 KiB."""

LINGER_SECONDS: Final = 5.0
"""From the last answer to the close, while arriving data is dropped: closing earlier would reset the answer."""

DRAIN_IDLE_SECONDS: Final = 1.0
"""When the replica stops: for a request that may be on its way, and for a stream or export left unread."""

DRAIN_REQUEST_SECONDS: Final = 10.0
"""When the replica stops: for a body that is arriving, and for an unread answer."""
