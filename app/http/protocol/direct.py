"""An HTTP protocol that hands the hot path's calls over without an ASGI server between.

What uvicorn does for a request (a scope, a cycle, an event, three messages, a timer) costs a third of a decision. A
plain call needs its headers, its body and one write. Everything else goes uvicorn's way: other paths and methods,
large bodies, `Expect`, strangers who keep us waiting for a body, a call that comes before the last one is answered.
"""

import asyncio
import logging
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from app.http.answers import Answer, Header
from app.http.api.authorize import PATH, respond
from app.http.application import Application
from app.http.authentication import known_caller
from app.http.protocol.bounded import BoundedHttpProtocol
from app.http.protocol.corked import CorkedTransport
from app.replica import Services

log = logging.getLogger(__name__)
_PATH = PATH.encode()
_BODY_BYTES = 64 * 1024
"""What is larger is read the way that knows when to stop reading."""


class DirectCall:
    """One authorize call of a connection; uvicorn sees in it a cycle of its own."""

    class _Nobody:
        """Waits for no message."""

        def set(self) -> None: ...

    message_event = _Nobody()
    disconnected = False
    response_complete = False
    task: asyncio.Task[None]

    def __init__(
        self, services: Services, headers: list[Header], client: tuple[str, int] | None, *, keep_alive: bool
    ) -> None:
        self.services = services
        self.headers = headers
        self.keep_alive = keep_alive
        self.received = bytearray()
        self._client = client

    @property
    def peer(self) -> str | None:
        return None if self._client is None else self._client[0]

    async def body(self) -> bytes:
        return bytes(self.received)


class DirectHttpProtocol(BoundedHttpProtocol):
    """Answers calls of the hot path when their last byte has come, in one write.

    It works where the application is Remit's own; around any other it is the protocol that it is made from.
    """

    _services: Services | None = None
    _coming: DirectCall | None = None
    _quiet_since = 0.0
    _quiet: asyncio.TimerHandle | None = None
    """One timer for all calls of a connection, where uvicorn has one for each."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The application has its services by now."""
        super().connection_made(transport)
        if isinstance(self.app, Application):
            self._services = self.app.state.services

    def on_message_begin(self) -> None:
        """A scope is made when it is known that one is needed."""
        self._begin_head()
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        """It is known which way the request goes."""
        before, services = self.cycle, self._services
        if (
            self.url == _PATH
            and services is not None
            and (before is None or before.response_complete)
            and not self.expect_100_continue
            and self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and not self.parser.should_upgrade()
        ):
            self._in_head = False
            self._coming = DirectCall(services, self.headers, self.client, keep_alive=self.parser.should_keep_alive())
            self.headers = []
            self.cycle = cast("Any", self._coming)
        else:
            self._begin_cycle()

    def on_body(self, body: bytes) -> None:
        """A part of the body, nearly always the whole."""
        call = self._coming
        if call is None:
            super().on_body(body)
            return
        call.received += body
        if len(call.received) > _BODY_BYTES:
            self._change_ways(call)

    def on_message_complete(self) -> None:
        """The request is whole."""
        call, self._coming = self._coming, None
        if call is None:
            super().on_message_complete()
            return
        self._incomplete = False
        call.task = self.loop.create_task(self._answer(call))
        self.tasks.add(call.task)

    def on_response_complete(self) -> None:
        """The connection waits for the next request, by our clock: uvicorn's stops at any byte, a line's end even."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._unset_keepalive_if_required()
            self._watch_for_quiet()

    def connection_lost(self, exc: Exception | None) -> None:
        """There is nothing to close any more."""
        if self._quiet is not None:
            self._quiet.cancel()
        super().connection_lost(exc)

    def _wait_for_the_rest(self, received: int) -> None:
        super()._wait_for_the_rest(received)
        call = self._coming
        if call is not None and not self.transport.is_closing() and known_caller(call.services, call.headers) is None:
            self._change_ways(call)

    def _change_ways(self, call: DirectCall) -> None:
        self._coming, self.cycle = None, cast("Any", None)
        self.headers = call.headers
        self._begin_cycle()
        self.cycle.keep_alive = call.keep_alive
        if call.received:
            super().on_body(bytes(call.received))

    def _begin_cycle(self) -> None:
        url, headers, expect = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.headers += headers
        self.url, self.expect_100_continue = url, expect
        super().on_headers_complete()

    async def _answer(self, call: DirectCall) -> None:
        try:
            answer = await respond(call.services, call)
            if self.flow.write_paused:
                await self.flow.drain()
            transport = cast("CorkedTransport", self.transport)
            if transport.is_closing():
                return
            transport.write_whole(_as_bytes(answer, self.server_state.default_headers, keep_alive=call.keep_alive))
            call.response_complete = True
            if not call.keep_alive:
                transport.close()
            self._go_on()
        except Exception:
            log.exception("an answer could not be sent")
            self.transport.close()
        finally:
            self.tasks.discard(call.task)

    def _go_on(self) -> None:
        if self.pipeline or self.flow.read_paused:
            self.on_response_complete()
            return
        self.server_state.total_requests += 1
        self._watch_for_quiet()

    def _watch_for_quiet(self) -> None:
        self._quiet_since = self.loop.time()
        if self._quiet is None:
            self._quiet = self.loop.call_later(self.timeout_keep_alive, self._close_if_quiet)

    def _close_if_quiet(self) -> None:
        """The connection has closed if nobody has used it for as long as uvicorn keeps one."""
        left_s = self._quiet_since + self.timeout_keep_alive - self.loop.time()
        if self._incomplete or not self.cycle.response_complete:
            left_s = self.timeout_keep_alive
        if left_s > 0:
            self._quiet = self.loop.call_later(left_s, self._close_if_quiet)
        else:
            self.transport.close()


def _as_bytes(answer: Answer, default_headers: list[Header], *, keep_alive: bool) -> bytes:
    parts = [STATUS_LINE[answer.status]]
    for headers in (default_headers, answer.headers):
        for name, value in headers:
            parts += (name, b": ", value, b"\r\n")
    if not keep_alive:
        parts.append(b"connection: close\r\n")
    parts += (b"content-length: %d\r\n\r\n" % len(answer.body), answer.body)
    return b"".join(parts)
