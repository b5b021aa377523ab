"""An HTTP protocol that bounds how large and how slow a request may be before there is one to answer.

uvicorn keeps header lines for as long as they come and waits for the rest for ever; whoever sends a byte a minute on
a thousand connections would hold them all.
"""

import asyncio

from app.errors import AppError, HeadTooLarge, Invalid, RequestTimeout
from app.http.problems import encode_error
from app.http.protocol.corked import CorkedHttpProtocol

HEAD_BYTES = 64 * 1024
"""Of request line and headers that may still be incomplete; what comes in one piece with them is not counted."""
REQUEST_SECONDS = 30.0
"""From a request's first byte, or a connection's start, until the request is complete."""
MOST_PIPELINED = 100
"""Requests that wait on one connection while one before them is answered: each takes up to 4 KiB for 18 bytes."""
_PHRASES = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}


class TooManyAtOnceError(Exception):
    """Stops the parser in the middle of what it reads."""


class BoundedHttpProtocol(CorkedHttpProtocol):
    """Refuses a head that does not end, and closes a connection whose request does not, or that asks too much at once.

    A request that comes in one piece, as nearly all do, starts no timer.
    """

    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _in_head = True
    _incomplete = True
    """Of the request that is coming, or of the connection's first, which is waited for from the start."""
    _reading = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The clock runs for the first request already."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Read on; look closer only at what has not come to its end."""
        if not self._reading:
            return
        super().data_received(data)
        if self._incomplete and self._reading:
            self._wait_for_the_rest(len(data))
        elif self._deadline is not None:
            self._stop_waiting()

    def on_message_begin(self) -> None:
        """Its first byte has come."""
        super().on_message_begin()
        self._begin_head()

    def on_headers_complete(self) -> None:
        """The rest is body. Raises TooManyAtOnceError, which the parser makes an error of its own."""
        if len(self.pipeline) >= MOST_PIPELINED:
            raise TooManyAtOnceError
        super().on_headers_complete()
        self._in_head = False
        # What comes after the body is no header, and nobody reads it.
        self.headers = []

    def on_message_complete(self) -> None:
        """Nothing of it is missing."""
        super().on_message_complete()
        self._incomplete = False

    def on_response_complete(self) -> None:
        """The next request that waits is answered; no more are read before the last of them is."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature, not its words
        """What is no HTTP is refused with the body that every refusal has."""
        self._refuse(Invalid.at("HTTP", "what was sent is not a request of HTTP/1.1"))

    def _begin_head(self) -> None:
        self._in_head = self._incomplete = True
        self._head_bytes = 0
        if self._deadline is not None:
            self._stop_waiting()

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
        is_in_body = self._incomplete and not self._in_head
        if self.cycle is not None and not self.cycle.response_complete and not is_in_body:
            # Those before are answered, the last of them with `Connection: close`; what follows is not looked at.
            self._reading = False
            self._stop_waiting()
            self.cycle.keep_alive = False
            return
        body = encode_error(error)
        self.transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
            % (error.status, _PHRASES[error.status], len(body), body)
        )
        self.transport.close()
