"""The outgoing bytes of a connection: encoded answers, written only as fast as the client reads."""

import asyncio
from http import HTTPStatus
from typing import Final

from app.http.answers import RawResponse
from app.http.protocol.connections import Connections, Stalled

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

    __slots__ = ("_owner", "_room", "_shared", "_transport", "is_full")

    def __init__(self, owner: Stalled, transport: asyncio.Transport, shared: Connections) -> None:
        self._owner, self._transport, self._shared = owner, transport, shared
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

    def fill(self, owed: int) -> None:
        """Note that the client does not read. owed: bytes of the answer that are still to follow."""
        self.is_full = True
        self._room = self._room or asyncio.Event()
        self._room.clear()
        self._shared.stall(self._owner, self._transport.get_write_buffer_size() + owed)

    def make_room(self) -> None:
        """Note that the client has read, or is gone."""
        self.is_full = False
        self._shared.go_on(self._owner)
        if self._room is not None:
            self._room.set()
