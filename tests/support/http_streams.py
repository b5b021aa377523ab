"""Streams of requests that are valid, invalid and in between, and two readings of them: h11's and ours.

They come from a seeded generator: as many as FUZZ_STREAMS says (default 300, in a brief run a tenth), from FUZZ_SEED on
(default 0).
"""

import os
import re
from itertools import chain
from urllib.parse import urlsplit

import h11
from far_ends import FarEnd, Recorder
from profiles import examples

STREAMS, SEED = int(os.environ.get("FUZZ_STREAMS", examples(300))), int(os.environ.get("FUZZ_SEED", "0"))
BATCHES = 20
REFUSALS = {400, 408, 413, 431}

WE_READ_MORE = {
    "RFC 9112, 2.2: empty lines before a request are ignored; h11 takes them for a request": rb"(?:\A|\n)\r\n",
    "RFC 9112, 7.1.1: blanks may stand before the semicolon of a chunk extension": rb"[0-9a-fA-F][ \t]+;",
}
"""Where h11 refuses and we need not, by what a stream then holds. The first is undone in `h11_reads`."""


def h11_reads(stream):
    """The requests of a stream as h11 sees them, each answered at once: method, target, headers, body."""
    found = []
    while True:
        while stream[:2] == b"\r\n":
            stream = stream[2:]
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 24)
        connection.receive_data(stream)
        try:
            request, body = connection.next_event(), b""
            if type(request) is not h11.Request:
                return found
            while type(part := connection.next_event()) is h11.Data:
                body += bytes(part.data)
        except h11.RemoteProtocolError:
            return found
        if type(part) is not h11.EndOfMessage:
            return found
        found.append((request.method, request.target, list(request.headers), body))
        connection.send(h11.Response(status_code=404, headers=[("content-length", "0")]))
        connection.send(h11.EndOfMessage())
        if connection.our_state is h11.MUST_CLOSE:
            return found
        stream = bytes(connection.trailing_data[0])


async def we_read(stream, pieces=None, half_closed=False):
    """The requests as our protocol sees them, the status of every answer, and whether more could follow."""
    recorder = Recorder()
    far_end = FarEnd(recorder)
    if pieces is None:
        await far_end.send(stream)
    else:
        at = 0
        while at < len(stream):
            size = pieces.choice((1, 2, 3, 7, 50, 400))
            await far_end.send(stream[at : at + size])
            at += size
    for _ in range(len(stream) // 10_000 + 40):
        await far_end.flush()
    if half_closed:
        await far_end.end()
    # Whether a body is asked for depends on whether it has come by then.
    statuses = [status for status in far_end.statuses if status != 100]
    return [plain(*each) for each in recorder.requests], statuses, far_end.state


def plain(method, path, query, headers, body):
    """As h11 shows it: a coding in lower case."""
    return (
        method,
        path,
        query,
        [(name, value.lower() if name == b"transfer-encoding" else value) for name, value in headers],
        body,
    )


def as_scope(method, target, headers, body):
    """What h11 has seen, as an application is told of it."""
    if target.startswith(b"/") or target == b"*":
        path, _, query = target.partition(b"?")
    else:
        parts = urlsplit(target)
        path, query = parts.path or b"/", parts.query
    return method, path, query, headers, body


def pick(rng, usual, *others):
    """Mostly the usual choice, so that most of a stream is valid."""
    return usual if rng.random() < 0.8 else rng.choice(others)


CODINGS = (
    b"Transfer-Encoding: Chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: x",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding:\tchunked\t",
    b"transfer-encoding:chunked",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: chunked;a=b",
    b"Transfer-Encoding: chunked,",
    b"Transfer-Encoding:",
    b'Transfer-Encoding: "chunked"',
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding:\r\n chunked",
    b"Transfer-Encoding: chunked\x0b",
    b"Transfer-Encoding: \x00chunked",
    b"Transfer_Encoding: chunked",
    b"X: y\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
    b"Transfer-Encoding\x00: chunked",
    b"Transfer-Encoding\xa0: chunked",
    b"\xef\xbb\xbfTransfer-Encoding: chunked",
)
OTHERS = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /\r\n",
    b"GET / HTTP/0.9\r\n\r\n",
    b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
    b"\r\n" * 50,
    b"\x00" * 9,
    b" GET / HTTP/1.1\r\n",
    b"\xff\xf4\xff\xfd\x06",
    b"0\r\n\r\n",
)
"""What other protocols, and older ones, begin with."""
SIZES = (
    b"fffffffffffffffff",
    b"7fffffffffffffff",
    b"8000000000000000",
    b"100000000",
    b"-1",
    b"+1",
    b"1_0",
    b" 1",
    b"1\t",
    b"0x",
    b"0X1",
    b"1;" + b"a" * 300,
    b'1;a="\r\n"',
    b"1;a\n",
    b"1 ;",
    b"1;a=\x00",
    b"\xb2",
    b"",
    b"1,1",
    b"00000000000000000001",
)


def request_of(rng):
    """A request, most of them right in most places."""
    method = rng.choice((b"GET", b"POST", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"HEAD", b"CONNECT", b"FOO"))
    target = pick(
        rng, b"/a?b=c", b"/", b"/%2e%2e//x", b"http://h/p?q", b"HTTP://h", b"*", b"h:80", b"/\xff", b"/a#b", b""
    )
    version = pick(rng, b"HTTP/1.1", b"HTTP/1.0", b"HTTP/1.2", b"HTTP/2.0", b"http/1.1", b"HTTP/1.1 ", b"")
    fields = [pick(rng, b"Host: h", b"Host: h\r\nHost: h", b"", b"Host: a/b", b"Host : h", b"Host:", b"host: [::1]:80")]
    body = rng.choice((b"", b"", b"x", b"hello", b"0\r\n\r\n", b"GET /in HTTP/1.1\r\nHost: h\r\n\r\n"))
    kind = rng.random()
    if kind < 0.4:
        length = b"%d" % len(body)
        wrong = (b"+1", b"-1", b"0x1", b"1, 1", b"", b"1" * 30, b"7", b"0" + length, length + b"\t", b"\t" + length)
        odd = (b"1_0", b"1e0", b"1.0", b"\xb2", length + b";", length + b"\x0b", b"\r\n " + length, b"-0", b"1 0")
        fields.append(b"Content-Length: %b" % pick(rng, length, *wrong, *odd))
    elif kind < 0.75:
        fields.append(pick(rng, b"Transfer-Encoding: chunked", *CODINGS))
        body = chunked(rng, body)
    elif kind < 0.85:
        fields += [b"Content-Length: %d" % len(body), rng.choice((b"Content-Length: 2", b"Transfer-Encoding: chunked"))]
    extra = (
        b"Connection: close", b"Connection: keep-alive, Upgrade\r\nUpgrade: x", b"Expect: 100-continue",
        b"TE: trailers",
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk", b"X-A: b\r\n c", b" X: y",
        b"X-A:\x00", b"X-A: \x0b", b"X:" + b" " * 50, b"X: a\rb", b"X: a\nY: b", b"\xffX: a", b"X: \xff\xfe", b"X-A",
        b":",
    )  # fmt: skip
    fields += rng.sample(extra, rng.choice((0, 0, 0, 1, 1, 2)))
    rng.shuffle(fields)
    end = pick(rng, b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r")
    head = end.join(
        [b" ".join(part for part in (method, target, version)), *[each for each in fields if each], b"", b""]
    )
    return head + body


def chunked(rng, body):
    """A body in chunks, with what may stand around them."""
    parts = []
    while body:
        size = rng.randint(1, len(body))
        line = pick(
            rng,
            b"%x" % size,
            b"%X;a=b" % size,
            b"%x ;a" % size,
            b"00%x" % size,
            b"%x " % size,
            b"0x%x" % size,
            b"g",
            *SIZES,
        )
        parts += [line, b"\r\n", body[:size], pick(rng, b"\r\n", b"\n", b"", b"x\r\n")]
        body = body[size:]
    trailers = pick(rng, b"", b"A: b\r\n", b"A: b\r\nC:\r\n", b"GET / HTTP/1.1\r\n", b" a: b\r\n", b"A\x00: b\r\n")
    return b"".join(
        (*parts, pick(rng, b"0", b"000", b"0;x", b"-0", b""), b"\r\n", trailers, pick(rng, b"\r\n", b"", b"\n"))
    )


CHANGING = (b"Content-Length", b"X-Request-ID", b"traceparent", b"Idempotency-Key")
"""The fields whose values may differ in a head that otherwise repeats the one before it on its connection."""


def repeats_of(rng, start=b"POST /a HTTP/1.1"):
    """Requests whose heads are the same but for the values of some fields; mostly."""
    names = [CHANGING[0], *rng.sample(CHANGING[1:], rng.randint(0, 3)), b"Host", *rng.sample((b"A", b"TE"), 1)]
    rng.shuffle(names)
    names = [pick(rng, name, name.lower(), name.upper()) + pick(rng, b": ", b":", b":  ", b" : ") for name in names]
    return [_repeat(rng, start, names) for _ in range(rng.randint(2, 4))]


def _repeat(rng, start, names):
    body = b"{%b}" % (b"x" * rng.choice((0, 1, 7, 8, 97, 98)))
    size = b"%d" % len(body)
    usual = {b"content-length": size, b"host": b"h", b"a": b"b", b"te": b"known"}
    odd = (b"", b"a b", b"a\tb", b"a ", b"\xff", b"v" * 129, b"a\x00", b"a\rb", b"a\r\n b", b"other", b"\xb2")
    odd = (*odd, b"0" + size, b"000" + size, size + b" ", b"+" + size, size + b"," + size, b"1" * 19)
    lines = [start]
    for name in names:
        value = usual.get(name.strip(b": ").lower(), b"v%d" % rng.randint(0, 999))
        lines.append(name + (rng.choice(odd) if rng.random() < 0.04 else value))
    if rng.random() < 0.05:
        lines.insert(rng.randint(1, len(lines)), rng.choice((*lines[1:], b"Transfer-Encoding: chunked", b"X-Other: y")))
    if rng.random() < 0.05:
        del lines[rng.randint(1, len(lines) - 1)]
    if rng.random() < 0.05:
        lines[0] = rng.choice((start.replace(b"POST", b"PUT"), start.replace(b"1.1", b"1.0"), start.lower()))
    return b"\r\n".join((*lines, b"", b"")) + body


def stream_of(rng):
    """A few requests in a row; in some, bytes were changed, lost, repeated or put in."""
    requests = [repeats_of(rng) if rng.random() < 0.3 else [request_of(rng)] for _ in range(rng.randint(1, 4))]
    stream = b"".join(chain.from_iterable(requests))
    if rng.random() < 0.05:
        at = rng.choice((0, len(stream)))
        stream = stream[:at] + rng.choice(OTHERS) + stream[at:]
    for _ in range(rng.choice((0, 0, 0, 1, 2, 3))):
        at = rng.randint(0, len(stream))
        to = min(len(stream), at + rng.randint(0, 4))
        put = rng.choice((b"", b"\r", b"\n", b"\r\n", b"\0", b" ", b":", b"0", b"\r\n\r\n", stream[at:to] * 2, b"\xff"))
        stream = stream[:at] + put + stream[to:]
    return stream


def require_agreement(stream, ours, statuses, state):
    """Raise unless what we have seen is what h11 has seen, or less and refused."""
    theirs = [as_scope(*each) for each in h11_reads(stream)]
    if any(re.search(shape, stream) for shape in list(WE_READ_MORE.values())[1:]):
        theirs += ours[len(theirs) :]
    assert ours == theirs[: len(ours)], stream
    if len(ours) < len(theirs):
        assert statuses[-1] in REFUSALS, stream
        assert state in {"lingering", "closed"}, stream
