"""An HTTP protocol whose connections end without losing what is on its way."""

from app.http.protocol.direct import DirectHttpProtocol

_LAST_WORD_SECONDS = 1.0


class DrainingHttpProtocol(DirectHttpProtocol):
    """When the worker stops, an open connection may send what is on its way, and is told to close in the answer.

    uvicorn closes a connection without a request under way at once, and what was on its way is lost.
    """

    _draining = False

    def shutdown(self) -> None:
        """The connection closes with the next answer, or when none has been asked for in a while."""
        self._draining = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
        else:
            self.loop.call_later(_LAST_WORD_SECONDS, self._close_if_idle)

    def on_headers_complete(self) -> None:
        """A request has begun; while draining it is the connection's last."""
        super().on_headers_complete()
        if self._draining:
            self.cycle.keep_alive = False

    def _close_if_idle(self) -> None:
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
