"""An HTTP protocol that bounds how large and how slow a request may be before there is one to answer.

uvicorn keeps header lines for as long as they come and waits for the rest for ever; whoever sends a byte a minute on
a thousand connections would hold them all.
"""

import asyncio

from app.errors import AppError, HeadTooLarge, Invalid, RequestTimeout
from app.http.problems import encode_error
from app.server.corked import CorkedHttpProtocol

HEAD_BYTES = 64 * 1024
"""Of request line and headers that may still be incomplete; what comes in one piece with them is not counted."""
REQUEST_SECONDS = 30.0
"""From a request's first byte, or a connection's start, until the request is complete."""
_PHRASES = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}


class BoundedHttpProtocol(CorkedHttpProtocol):
    """Refuses a head that does not end, and closes a connection whose request does not.

    A request that comes in one piece, as nearly all do, starts no timer.
    """

    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _in_head = True
    _incomplete = True
    """Of the request that is coming, or of the connection's first, which is waited for from the start."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The clock runs for the first request already."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Read on; look closer only at what has not come to its end."""
        super().data_received(data)
        if self._incomplete:
            self._wait_for_the_rest(len(data))
        elif self._deadline is not None:
            self._stop_waiting()

    def on_message_begin(self) -> None:
        """Its first byte has come."""
        super().on_message_begin()
        self._in_head = self._incomplete = True

    def on_headers_complete(self) -> None:
        """The rest is body."""
        super().on_headers_complete()
        self._in_head = False

    def on_message_complete(self) -> None:
        """Nothing of it is missing."""
        super().on_message_complete()
        self._incomplete = False

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature, not its words
        """What is no HTTP is refused with the body that every refusal has."""
        self._refuse(Invalid.at("HTTP", "what was sent is not a request of HTTP/1.1"))

    def _wait_for_the_rest(self, received: int) -> None:
        if self.transport.is_closing():
            return
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)
        if self._in_head:
            self._head_bytes += received if self._head_bytes else 1
            if self._head_bytes > HEAD_BYTES:
                self._refuse(HeadTooLarge(f"Request line and headers have more than {HEAD_BYTES} bytes"))
        else:
            self._head_bytes = 0

    def _stop_waiting(self) -> None:
        self._head_bytes = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        answered = self.cycle is not None and self.cycle.response_complete
        if self._head_bytes and (answered or self.cycle is None):
            self._refuse(RequestTimeout(f"The request was not complete after {REQUEST_SECONDS:.0f} seconds"))
        else:
            # Silent, or in the middle of a body: whoever reads that is told that the client has gone.
            self.transport.close()

    def _refuse(self, error: AppError) -> None:
        body = encode_error(error)
        self.transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
            % (error.status, _PHRASES[error.status], len(body), body)
        )
        self.transport.close()
