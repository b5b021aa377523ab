"""The outgoing bytes of a connection: encoded answers, written only as fast as the client reads."""

import asyncio
from http import HTTPStatus
from typing import Final

from app.http.answers import RawResponse

STATUS_LINES: Final = {status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
CLOSE: Final = b"connection: close\r\n"


def encode_answer(answer: RawResponse, common_headers: bytes, *, keep_alive: bool) -> bytes:
    """The bytes of a complete answer. common_headers: the headers of every answer, encoded."""
    parts = [STATUS_LINES[answer.status], common_headers]
    for name, value in answer.headers:
        parts += (name, b": ", value, b"\r\n")
    if not keep_alive:
        parts.append(CLOSE)
    if answer.body:
        parts.append(b"content-length: %d\r\n" % len(answer.body))
    parts += (b"\r\n", answer.body)
    return b"".join(parts)


class Outgoing:
    """The writing half of a connection. It is full while more than 64 KiB, the high-water mark, are buffered."""

    __slots__ = ("_room", "_transport", "is_full")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._room: asyncio.Event | None = None
        self.is_full = False

    def write(self, *parts: bytes) -> None:
        """Write the bytes; if the connection is closed, drop them."""
        if self._transport.is_closing():
            return
        if len(parts) == 1:
            self._transport.write(parts[0])
        else:
            self._transport.writelines([part for part in parts if part])

    async def drain(self) -> None:
        """Wait until there is room, or the connection is closed."""
        if self._room is not None:
            await self._room.wait()

    def fill(self) -> None:
        """Note that the client does not read."""
        self.is_full = True
        self._room = self._room or asyncio.Event()
        self._room.clear()

    def make_room(self) -> None:
        """Note that the client has read, or is gone."""
        self.is_full = False
        if self._room is not None:
            self._room.set()
