"""The body of a request, taken from a connection's bytes: of an announced length, or in chunks."""

import re
from itertools import repeat

from app.errors import HeadTooLarge, Invalid
from app.http.protocol.head import require_fields
from app.http.protocol.states import HEAD_BYTES, LINE_BYTES

ANY_LINES = 1 << 62
_size_line = re.compile(rb"([0-9A-Fa-f]{1,15}+)((?:[ \t]*+;[\t\x20-\x7e\x80-\xff]*+)?+)\r\n").match


class SizedBody:
    """A body with `left` bytes to come."""

    def __init__(self, length: int) -> None:
        self.left = length

    @property
    def is_complete(self) -> bool:
        return self.left == 0

    def feed(self, data: bytes, into: bytearray) -> bytes:
        """Take the bytes that belong to the body; return those that follow it."""
        piece = data[: self.left]
        self.left -= len(piece)
        into += piece
        return data[len(piece) :]


class ChunkedBody:
    """A body in chunks (RFC 9112, section 7.1).

    Chunk extensions and trailers are ignored, but count towards the limit of the head.
    head_bytes: how much of that limit is spent. left: unknown, represented by more than any body may have.
    """

    left = 1 << 62

    def __init__(self, head_bytes: int) -> None:
        self.is_complete = False
        self._spare = HEAD_BYTES - head_bytes
        self._chunk = 0
        self._in_chunk = self._in_trailers = False
        self._partial_line = b""

    def feed(self, data: bytes, into: bytearray, most_lines: int = ANY_LINES) -> bytes:
        """Take the bytes of the body; return those that follow the message. Raises Invalid or HeadTooLarge.

        most_lines: read no more than this many lines; the body is then not complete, and what follows them is returned.
        """
        data, self._partial_line = self._partial_line + data, b""
        at = 0
        for _ in repeat(None, most_lines):
            if self.is_complete:
                break
            if self._chunk:
                piece = data[at : at + self._chunk]
                into += piece
                at += len(piece)
                self._chunk -= len(piece)
                if self._chunk:
                    return b""
            end = data.find(b"\n", at, at + LINE_BYTES) + 1
            if not end:
                self._keep_partial_line(data[at:])
                return b""
            self._line(data[at:end])
            at = end
        return data[at:]

    def _keep_partial_line(self, part: bytes) -> None:
        """Keep an incomplete line, if it can still become a valid one."""
        if len(part) >= LINE_BYTES:
            raise _too_large()
        if self._in_chunk and part not in {b"", b"\r"}:
            raise _no_chunk()
        self._partial_line = part

    def _line(self, line: bytes) -> None:
        """Process a line: the end of a chunk, the size of the next, a trailer, or the end of the body."""
        if self._in_chunk:
            if line != b"\r\n":
                raise _no_chunk()
            self._in_chunk = False
        elif not self._in_trailers:
            match = _size_line(line)
            if match is None:
                raise _no_chunk()
            self._spend(len(match[2]))
            self._chunk = int(match[1], 16)
            self._in_chunk = self._chunk > 0
            self._in_trailers = not self._in_chunk
        elif line == b"\r\n":
            self.is_complete = True
        else:
            self._spend(len(line))
            require_fields(line)

    def _spend(self, size: int) -> None:
        self._spare -= size
        if self._spare < 0:
            raise _too_large()


def _too_large() -> HeadTooLarge:
    return HeadTooLarge(f"Headers, chunk extensions and trailers have more than {HEAD_BYTES} bytes together")


def _no_chunk() -> Invalid:
    return Invalid.at("HTTP", "the body is not in chunks: a size in hex digits, that many bytes, and a line's end")
