"""Moves a connection to the replica's other lane."""

import asyncio

from app.http.protocol.head import CHUNKED, Head
from app.lanes.lane import Lane, MoveResult


def move_to_other_lane(transport: asyncio.Transport, lane: Lane, received: bytes, arrived_us: int) -> MoveResult:
    """Send the connection's socket, with what was received on it. Nothing written may be left in the transport.

    Once it has moved, abort the transport: that closes only this process's descriptor.
    """
    return lane.send(transport.get_extra_info("socket").fileno(), received, arrived_us)


def rebuilt_request(head: Head, body: bytes) -> bytes:
    """The bytes of a request that has arrived whole, with this body. Trailers and sizes of chunks are not kept."""
    if head.length == CHUNKED:
        body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    return b"%b\r\n%b" % (head.raw, body)
