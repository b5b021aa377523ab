"""Two readings of RFC 9110 and RFC 9112, ours and h11's, of streams that are valid, invalid and in between.

Of any bytes, in any pieces, we see the requests that h11 sees, in that order; or fewer, and then the connection ends
with a refusal. Never one more, and never another body.
"""

import random
import re

import h11
import pytest
from http_streams import BATCHES, SEED, STREAMS, WE_READ_MORE, require_agreement, stream_of, we_read

WE_READ_LESS = {
    "RFC 9112, 2.2: a bare LF may end a line, and may not here": b"GET / HTTP/1.1\nHost: h\n\n",
    "RFC 9112, 5.2: a folded line may be unfolded, and is refused here": (
        b"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n"
    ),
    "RFC 9110, 5.5: control characters are no part of a value": b"GET / HTTP/1.1\r\nHost: h\r\nA: \x01\r\n\r\n",
    "RFC 9110, 7.2: Host must name a host": b"GET / HTTP/1.1\r\nHost: a b/c\r\n\r\n",
    "RFC 9112, 3.2: # is no part of a target": b"GET /#a HTTP/1.1\r\nHost: h\r\n\r\n",
    "RFC 9112, 3.2: a target is a path, a URL, or * for OPTIONS": b"GET a HTTP/1.1\r\nHost: h\r\n\r\n",
    "RFC 9110, 9.3.6: a tunnel, which there is none": b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
    "RFC 9112, 6.3: equal lengths may be one, and are refused here": (
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na"
    ),
    "RFC 9112, 6.3: a length beside a coding ought to be an error": (
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "RFC 9112, 6.1: a coding in a request of HTTP/1.0 is faulty": (
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "RFC 9112, 7.1: no blanks end a chunk's size": (
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0 \r\n\r\n"
    ),
    "RFC 9112, 2.3: another major version": b"GET / HTTP/2.0\r\nHost: h\r\n\r\n",
    "RFC 9112, 2.2: leading blanks of the first header": b"GET / HTTP/1.1\r\nHost:\th\r\nA:b \t\r\nB:\n\r\n\r\n",
}
"""Streams of which h11 makes a request, or could, and we an error: stricter, as the RFC allows or asks."""


@pytest.mark.parametrize("batch", range(BATCHES))
async def test_we_see_the_requests_that_h11_sees_or_refuse(batch):
    """Whole and in pieces, left open and half-closed."""
    for number in range(batch, STREAMS, BATCHES):
        rng = random.Random(SEED + number)
        stream = stream_of(rng)
        ours, statuses, state = await we_read(stream)
        require_agreement(stream, ours, statuses, state)
        assert (ours, statuses) == (await we_read(stream, rng))[:2], stream
        closed = await we_read(stream, half_closed=True)
        assert closed[::2] == (ours, "closed"), stream
        assert closed == await we_read(stream, rng, half_closed=True), stream


@pytest.mark.parametrize("stream", WE_READ_LESS.values(), ids=WE_READ_LESS)
async def test_where_the_readings_differ_ours_is_the_stricter_one(stream):
    """No line of the list is superfluous."""
    ours, statuses, state = await we_read(stream)
    assert (ours, statuses[-1:], state) == ([], [400], "lingering")


async def test_where_we_read_more_than_h11_the_rfc_asks_for_it():
    """As both lines of the list say."""
    empty = b"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"
    blanks = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1 ;a=b\r\nx\r\n0\r\n\r\n"
    for stream, shape in zip((empty, blanks), WE_READ_MORE.values(), strict=True):
        assert re.search(shape, stream)
        assert len((await we_read(stream))[0]) == 1
        with pytest.raises(h11.RemoteProtocolError):
            read_strictly(stream)


def read_strictly(stream):
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(stream)
    while type(connection.next_event()) in {h11.Request, h11.Data}:
        pass
