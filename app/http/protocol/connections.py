"""State shared by a replica's connections: a read buffer, and the limit on unread answers."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from app.http.answers import Header
from app.http.protocol.states import READ_BYTES, UNREAD_BYTES
from app.runtime.lanes.lane import Lane


class Stalled(Protocol):
    """A connection whose client does not read."""

    def abort(self, reason: str) -> None:
        """Close it and drop its unread bytes."""


class Counted(Protocol):
    """A connection that counts for its address."""

    def abort(self, reason: str) -> None:
        """Close it."""

    def crowd_out(self) -> None:
        """Refuse its requests."""


class Connections:
    """One per lane. lane: this one. count: called with the reason for which each connection ended.

    per_address: the most connections of one address; 0 = any number. address_of: the address that counts for a peer;
    None = it does not count.

    buffer: filled by a read, and copied before the loop reads from another connection. stalled: connections whose
    client does not read, with the unread bytes of each, those unread longest first.
    """

    def __init__(
        self,
        lane: Lane,
        count: Callable[[str], None] = lambda _: None,
        unread_bytes: int = UNREAD_BYTES,
        per_address: int = 0,
        address_of: Callable[[str | None], str | None] = lambda _: None,
    ) -> None:
        self.lane = lane
        self.buffer = memoryview(bytearray(READ_BYTES))
        self.open = 0
        self.count = count
        self.stalled: OrderedDict[Stalled, int] = OrderedDict()
        self.unread_bytes = 0
        self._unread_max = unread_bytes
        self._per_address, self._address_of = per_address, address_of
        self._by_address: dict[str, int] = {}
        self._headers: list[Header] | None = None
        self._encoded = b""

    def enter(self, peer: str | None, connection: Counted) -> str | None:
        """Count a new connection; return the address that `leave` is told, None if it counts for none.

        Beyond its number, an address gets an answer, no reset: that would look like an outage to whoever asks from
        the same address. For the same reason, no older connection is closed. Beyond twice the number, it is closed.
        """
        address = self._address_of(peer) if self._per_address else None
        if address is None:
            return None
        self._by_address[address] = count = self._by_address.get(address, 0) + 1
        if count > 2 * self._per_address:
            connection.abort("crowded")
        elif count > self._per_address:
            connection.crowd_out()
        return address

    def leave(self, address: str | None) -> None:
        """Forget a connection of this address."""
        if address is not None and (left := self._by_address.pop(address) - 1):
            self._by_address[address] = left

    def stall(self, connection: Stalled, unread: int) -> None:
        """Note that the client has stopped reading.

        If all such connections together have too many unread bytes, close those unread longest.
        """
        self.unread_bytes += unread - self.stalled.get(connection, 0)
        self.stalled[connection] = unread
        while self.unread_bytes > self._unread_max and len(self.stalled) > 1:
            longest = next(iter(self.stalled))
            self.go_on(longest)
            longest.abort("unread")

    def go_on(self, connection: Stalled) -> None:
        """Note that the client reads again, or is gone."""
        self.unread_bytes -= self.stalled.pop(connection, 0)

    def encoded(self, headers: list[Header]) -> bytes:
        """The headers of every answer, encoded; the server makes a new list of them every second."""
        if headers is not self._headers:
            self._headers = headers
            self._encoded = b"".join(b"%b: %b\r\n" % header for header in headers)
        return self._encoded
