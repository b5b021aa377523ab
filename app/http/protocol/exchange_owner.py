"""The owner of an exchange: its connection, as far as an exchange sees it."""

from typing import TYPE_CHECKING, Protocol

from app.http.protocol.outgoing import Outgoing

if TYPE_CHECKING:
    from app.http.protocol.exchange import Exchange


class ExchangeOwner(Protocol):
    """What an exchange needs from its connection."""

    outgoing: Outgoing

    def want_body(self) -> None:
        """Ask for more of the body."""

    def keeps_open(self, exchange: "Exchange") -> bool:
        """Whether another request may follow this one."""

    def common_headers(self) -> bytes:
        """The headers of every answer."""

    def answered(self) -> None:
        """The answer is complete."""

    def move(self, request: bytes, arrived_us: int) -> None:
        """The other lane is to answer this request."""

    def abort(self, reason: str) -> None:
        """The answer cannot be completed."""
