"""Parses the head of a request by the grammar of RFC 9112, and nothing looser.

Anything that two parsers could end in different places is refused (RFC 9112, section 11.2): bare CR or LF, folded
lines, blanks around a name, and lengths that are repeated or combined with a transfer coding.
"""

import re
from typing import Final

from msgspec import Struct

from app.errors import HeadTooLarge, Invalid
from app.http.answers import Header
from app.http.doors import door_at
from app.http.headers import IDEMPOTENCY_KEY, REQUEST_ID_HEADER, CallHeaders
from app.http.hot_path import Door
from app.http.protocol.states import FIELDS_MAX, HEAD_BYTES

CONTENT_LENGTH: Final = b"content-length"
CHUNKED: Final = -1
"""The length of a chunked body, which marks its own end."""

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
# Possessive (++, *+), so that a line that does not match is refused in one pass, whatever is in it.
_request_line = re.compile(rb"(%b++) ([\x21\x22\x24-\x7e]++) HTTP/1\.([0-9])\r\n" % _TOKEN).match
_fields = re.compile(rb"^(%b++):[ \t]*+([\t\x20-\x7e\x80-\xff]*+)\r\n" % _TOKEN, re.MULTILINE).findall
_may_begin = re.compile(rb"%b{0,24}+(?: |$)" % _TOKEN).match
_never = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r[^\n]|(?<!\r)\n").search
_host = re.compile(rb"(?:[0-9A-Za-z\-._~!$&'()*+,;=%]*+|\[[0-9A-Fa-fv:.]++\])(?::[0-9]*+)?").fullmatch
_length = re.compile(rb"[0-9]{1,18}").fullmatch
_VALUE = rb"([\x21-\x7e]{1,128})"
_changing = {
    name: re.compile(rb"%b: %b" % (name, value), re.IGNORECASE).fullmatch
    for name, value in (
        (CONTENT_LENGTH, rb"([0-9]{1,5})"),
        (IDEMPOTENCY_KEY, _VALUE),
        (REQUEST_ID_HEADER, _VALUE),
        (b"traceparent", _VALUE),
    )
}
"""The lines whose values programs change with each call, in the one form that is not read anew."""

_LONGEST_METHOD = 24
_SPECIAL = frozenset({b"host", b"content-length", b"transfer-encoding", b"connection", b"expect"})
_ONCE = _SPECIAL - {b"connection", b"expect"}


class RequestHead(Struct):
    """A request line and its fields. Names are lower case, values without surrounding blanks.

    length: bytes of the body, or CHUNKED. raw: its lines, without the final empty one. keep_alive: the client accepts
    another request on this connection. expects: it waits for `100 Continue`. door: the one at which it arrives.

    call_headers: the headers that the hot path has read.
    """

    method: bytes
    target: bytes
    minor: int
    headers: list[Header]
    length: int
    raw: bytes
    keep_alive: bool
    expects: bool
    door: Door | None
    call_headers: CallHeaders | None = None

    def rebuilt(self, body: bytes) -> bytes:
        """The bytes of this request with its complete body. Trailers and chunk sizes are not preserved."""
        if self.length == CHUNKED:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
        return b"%b\r\n%b" % (self.raw, body)


class RepeatedHead:
    """A head of which a connection's later ones may repeat all but the values of `_changing`: those are not read anew.

    The program that asks repeats its key and everything else it has to say; reading that costs a fifth of a decision.
    """

    __slots__ = ("_changed", "_head", "_lines")

    def __init__(self, head: RequestHead) -> None:
        self._head = head
        self._lines = head.raw.split(b"\r\n")
        names = [name for name, _ in head.headers]
        self._changed = [
            (at, name, _changing[name])
            for at, name in enumerate(names, 1)
            if name in _changing and names.count(name) == 1 and _changing[name](self._lines[at])
        ]
        for at, *_ in self._changed:
            self._lines[at] = b""

    def with_values_of(self, raw: bytes) -> RequestHead | None:
        """What `read_head` makes of `raw`, if it repeats this head; otherwise None."""
        head, lines, length = self._head, raw.split(b"\r\n"), self._head.length
        if len(lines) != len(self._lines):
            return None
        headers, given = head.headers.copy(), head.call_headers
        for at, name, match in self._changed:
            found = match(lines[at])
            if found is None:
                return None
            lines[at] = b""
            value = found[1]
            headers[at - 1] = (name, value)
            if name == CONTENT_LENGTH:
                length = int(value)
            elif given is not None:
                given = given.with_value(name, value)
        if lines != self._lines:
            return None
        return RequestHead(
            head.method, head.target, head.minor, headers, length, raw, head.keep_alive, head.expects, head.door, given
        )


def require_beginning(part: bytes | bytearray, seen: int) -> None:
    """Raise Invalid if no head can begin like this; the first `seen` bytes were checked before."""
    if not _may_begin(part[: _LONGEST_METHOD + 1]) or _never(part, max(0, seen - 1)):
        raise not_http()


def read_head(raw: bytes) -> RequestHead:
    """The head whose lines are in `raw`, without the final empty line. Raises Invalid or HeadTooLarge."""
    if len(raw) > HEAD_BYTES:
        raise HeadTooLarge(f"Request line and headers have more than {HEAD_BYTES} bytes")
    line = _request_line(raw)
    if line is None:
        raise not_http()
    fields = _fields(raw, line.end())
    # Each match is one line, so an equal number of matches and lines means that every line is a field.
    if len(fields) != raw.count(b"\n") - 1:
        raise _invalid("not a header line; expected `name: value` without control characters")
    if len(fields) > FIELDS_MAX:
        raise HeadTooLarge(f"The request has more than {FIELDS_MAX} headers")
    method, target, minor = line.groups()
    headers = [(name.lower(), value.rstrip(b" \t")) for name, value in fields]
    return _framed(method, target, int(minor), headers, raw)


def require_fields(line: bytes) -> None:
    """Raise Invalid unless the line, its end included, is a field; trailers are checked no further."""
    if not _fields(line):
        raise _invalid("not a trailer line; expected `name: value` without control characters")


def not_http() -> Invalid:
    return _invalid("what was sent is not a request of HTTP/1.1")


def _framed(method: bytes, target: bytes, minor: int, headers: list[Header], raw: bytes) -> RequestHead:
    special: dict[bytes, bytes] = {}
    for name, value in headers:
        if name not in special:
            if name in _SPECIAL:
                special[name] = value
        elif name in _ONCE:
            raise _invalid(f"{name.decode()} is given more than once")
        else:
            special[name] += b"," + value
    host = special.get(b"host")
    if (host is None and minor) or (host is not None and not _host(host)):
        raise _invalid("the header Host must be there and name a host, with or without a port")
    persists = minor > 0
    if b"connection" in special:
        persists = persists and b"close" not in map(bytes.strip, special[b"connection"].lower().split(b","))
    expects = minor > 0 and special.get(b"expect", b"").lower() == b"100-continue"
    length, door = _length_of(special, minor), door_at(method, target)
    return RequestHead(
        method, target, minor, headers, length=length, raw=raw, keep_alive=persists, expects=expects, door=door
    )


def _length_of(special: dict[bytes, bytes], minor: int) -> int:
    """The length of the body: RFC 9112, section 6.3."""
    coding, length = special.get(b"transfer-encoding"), special.get(b"content-length")
    if coding is not None:
        if length is not None:
            raise _invalid("Content-Length and Transfer-Encoding are both given; give one of them")
        if coding.lower() != b"chunked" or not minor:
            raise _invalid("Transfer-Encoding must be chunked, alone, in a request of HTTP/1.1")
        return CHUNKED
    if length is None:
        return 0
    if not _length(length):
        raise _invalid("Content-Length must be a number of bytes in digits, given once")
    return int(length)


def _invalid(message: str) -> Invalid:
    return Invalid.at("HTTP", message)
