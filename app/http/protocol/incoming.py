"""The incoming bytes of a connection, read only as fast as they are used."""

import asyncio
import re

from app.errors import HeadTooLarge
from app.http.protocol.head import RepeatedHead, RequestHead, read_head, require_beginning
from app.http.protocol.states import HEAD_BYTES

_CACHED_BYTES = 2 * 1024
_blank_lines = re.compile(rb"(?:\r\n)++").match


class Incoming:
    """The reading half of a connection: bytes that belong to no request yet.

    A head of up to 2 KiB is cached with its parsed form: clients repeat theirs.
    """

    __slots__ = ("_bytes", "_cached", "_cached_raw", "_is_paused", "_repeated", "_seen", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._is_paused = False
        self._bytes: bytes | bytearray = b""
        self._seen = 0
        self._cached_raw = b""
        self._cached: RequestHead | None = None
        self._repeated: RepeatedHead | None = None

    def __bool__(self) -> bool:
        return bool(self._bytes)

    @property
    def is_blank(self) -> bool:
        """True if no request has begun: there are no bytes, or half of a blank line."""
        return not self._bytes or self._bytes == b"\r"

    def add(self, data: bytes) -> None:
        if self._bytes:
            if isinstance(self._bytes, bytes):
                self._bytes = bytearray(self._bytes)
            self._bytes += data
        else:
            self._bytes = data

    def take(self) -> bytes:
        """Take all bytes."""
        taken, self._bytes, self._seen = bytes(self._bytes), b"", 0
        return taken

    def put_back(self, data: bytes) -> None:
        """Put bytes that were taken back in front of the others."""
        self._bytes, self._seen = data + bytes(self._bytes), 0

    def all(self) -> bytes:
        """A copy of all bytes."""
        return bytes(self._bytes)

    def take_head(self) -> RequestHead | None:
        """Take the next head, once it is complete. Raises Invalid or HeadTooLarge as soon as it cannot become one."""
        if self._bytes[:1] == b"\r":
            self._drop_blank_lines()
            if self._bytes == b"\r":
                return None
        end = self._bytes.find(b"\r\n\r\n", max(0, self._seen - 3))
        if end < 0:
            self._require_more()
            return None
        raw, self._bytes, self._seen = bytes(self._bytes[: end + 2]), self._bytes[end + 4 :], 0
        if raw == self._cached_raw:
            return self._cached
        if self._cached is not None:
            if self._repeated is None:
                self._repeated = RepeatedHead(self._cached)
            if (head := self._repeated.with_values_of(raw)) is not None:
                return head
        head = read_head(raw)
        if len(raw) <= _CACHED_BYTES:
            self._cached_raw, self._cached, self._repeated = raw, head, None
        return head

    def _drop_blank_lines(self) -> None:
        """Drop blank lines before a request (RFC 9112, section 2.2)."""
        if blank := _blank_lines(self._bytes):
            self._bytes, self._seen = self._bytes[blank.end() :], 0

    def _require_more(self) -> None:
        require_beginning(self._bytes, self._seen)
        self._seen = len(self._bytes)
        if self._seen > HEAD_BYTES:
            raise HeadTooLarge(f"Request line and headers have more than {HEAD_BYTES} bytes")

    def pause(self) -> None:
        """Stop reading."""
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Resume reading."""
        if self._is_paused and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()
