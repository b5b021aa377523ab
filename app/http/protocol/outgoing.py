"""Outgoing bytes of a connection, written only as fast as the client reads."""

import asyncio

from app.http.protocol.connections import Connections, Stalled


class Outgoing:
    """The writing half of a connection. It is full while the transport holds more than its high-water mark, 64 KiB."""

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
        """Note that the client does not read. owed: bytes still to follow, held elsewhere."""
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
