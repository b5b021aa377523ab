"""A client's connection: one request at a time, in order, with a time limit in each state.

A request is parsed by `head` and `body` and handed to the hot path or to the application. The next one is parsed only
once it has been answered, so nothing overtakes. Upgrades are not supported: a request for one is treated like any other
(RFC 9110, section 7.8).
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.server import ServerState

from app.errors import AppError, Invalid, Overloaded, RequestTimeout
from app.http.problems import error_answer
from app.http.protocol.connections import Connections
from app.http.protocol.dispatch import Dispatch
from app.http.protocol.exchange import Exchange, Outgoing, encode_answer
from app.http.protocol.head import RequestHead
from app.http.protocol.incoming import Incoming
from app.http.protocol.states import (
    ANSWERING,
    BODY,
    BODY_AHEAD_BYTES,
    CLOSED,
    DISCARDING,
    DRAIN_IDLE_SECONDS,
    FIRST_SECONDS,
    HEAD,
    IDLE,
    LINGERING,
    MOVING,
    NEVER,
    UNREAD,
    State,
)
from app.runtime.lanes.lane import MovedConnection, MoveResult


class ClientConnection(asyncio.BufferedProtocol):
    """The state machine of one connection: a protocol for uvicorn's server."""

    reason = "client"
    _is_half_closed = _is_draining = _goes_first = False
    _exchange: Exchange | None = None

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        shared: Connections,
        moved: MovedConnection | None = None,
    ) -> None:
        """The first arguments are those that uvicorn gives. moved: the connection as the other lane has sent it; its
        first request is answered here in any case.
        """
        self._config, self._server, self._app_state, self._shared = config, server_state, app_state, shared
        self._loop = _loop or asyncio.get_running_loop()
        self._moved, self._stays = moved, moved is not None
        self._arrived_us = moved.arrived_us if moved is not None else 0
        self.state: State = IDLE

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The client has connected; the application has its services by now."""
        self._transport = transport = cast("asyncio.Transport", transport)
        shared, server, loop = self._shared, self._server, self._loop
        self._dispatch = Dispatch(self._config, server, self._app_state, loop, transport, shared.lane)
        self._incoming, self.outgoing = Incoming(transport), Outgoing(transport)
        self._deadline = Deadline(loop, self._expire)
        self._deadline.after(FIRST_SECONDS)
        server.connections.add(cast("Any", self))
        shared.open += 1
        self._address = shared.enter(self._dispatch.peer, self)
        if self._moved is not None:
            # Not before the transport is set up: uvloop then begins to read, even if reading has been paused meanwhile.
            self._incoming.add(self._moved.request)
            loop.call_soon(self._go_on_from_other_lane)

    def _go_on_from_other_lane(self) -> None:
        """Process the bytes that came with the socket, unless a later read has already consumed them."""
        self._moved = None
        if self.state is IDLE and self._incoming:
            self._read_head()

    def shutdown(self) -> None:
        """The replica stops: answer what is in progress, then close the connection."""
        self._is_draining = True
        if self.outgoing.is_full and self.state in {ANSWERING, UNREAD, MOVING}:
            self._deadline.after(self._unread_seconds())
        else:
            self._wait_for(self.state)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why does not matter
        """The socket is closed: tell the exchange in progress.

        Nothing that refers back to this connection is kept: it would never be freed (see `app.runtime.gc_freeze`).
        """
        self._server.connections.discard(cast("Any", self))
        self._shared.open -= 1
        self._shared.count(self.reason)
        self._shared.leave(self._address)
        self.state = CLOSED
        self._deadline.end()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.lose()
        self._make_room()

    # Receiving.

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - there is one buffer
        """The buffer for the loop's next read."""
        return self._shared.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Process the bytes read, as far as the state permits; keep the rest, and pause reading meanwhile."""
        data, state = bytes(self._shared.buffer[:nbytes]), self.state
        if state is IDLE or state is HEAD:
            self._incoming.add(data)
            self._read_head()
        elif state is BODY or state is DISCARDING:
            self._read_body(data)
        elif state is ANSWERING or state is UNREAD or state is MOVING:
            self._incoming.add(data)
            self._incoming.pause()

    def eof_received(self) -> bool:
        """The client has closed its sending side but may still read: answer its requests, and keep the socket open."""
        self._is_half_closed = True
        match self.state:
            case State.ANSWERING | State.UNREAD:
                cast("Exchange", self._exchange).end_requests()
                return True
            case State.MOVING:
                return True
            case State.IDLE if self._moved is not None:
                return True
            case State.HEAD | State.BODY:
                self._break_off(_incomplete())
                return True
            case _:
                return False

    def _read_head(self) -> None:
        try:
            head = self._incoming.take_head()
            if not (head is None or self._stays or self._is_draining or self._dispatch.takes(head, self._incoming)):
                self.move(head, head.raw + b"\r\n")
                return
            exchange = self._exchange = None if head is None else self._dispatch.open(self, head)
        except AppError as error:
            self._refuse(error)
            return
        if exchange is not None:
            if self._stays:
                exchange.arrived_us, self._stays = self._arrived_us, False
            was_idle = self.state is IDLE
            self.state = BODY
            self._read_body(self._incoming.take())
            if was_idle and self.state is BODY:
                self._wait_for(BODY)
        elif self._incoming.is_blank:
            if self._is_half_closed:
                self._end("client")
        elif self._is_half_closed:
            self._break_off(_incomplete())
        elif self.state is IDLE:
            self._wait_for(HEAD)

    def _read_body(self, data: bytes) -> None:
        exchange = cast("Exchange", self._exchange)
        try:
            after = exchange.feed(data)
        except AppError as error:
            self._break_off(error)
            return
        if exchange.is_complete:
            self._incoming.add(after)
            self._go_on(exchange)
        elif self._is_half_closed:
            self._break_off(_incomplete())
        elif self.state is DISCARDING:
            exchange.drop_received()
        else:
            self._read_on(exchange)

    def _go_on(self, exchange: Exchange) -> None:
        """The whole request has arrived."""
        if self.state is DISCARDING:
            self._next()
            return
        self._answer_in_time()
        if self._incoming:
            self._incoming.pause()
        self._dispatch.start(exchange)

    def _read_on(self, exchange: Exchange) -> None:
        """More of the body is to come. Unknown callers, large bodies and slower routes are processed before it has."""
        is_ahead = len(exchange.received) > BODY_AHEAD_BYTES
        if exchange.is_started or is_ahead or not self._dispatch.can_wait(exchange):
            self._dispatch.start(exchange)
        if is_ahead and not exchange.is_wanted:
            self._incoming.pause()

    def want_body(self) -> None:
        """Resume reading: a task is waiting for more of the body."""
        if self.state is BODY:
            self._incoming.resume()

    # Changing lanes.

    def move(self, head: RequestHead, request: bytes, arrived_us: int = 0) -> None:
        """Let the other lane answer this request, of which these bytes have arrived, and those after it."""
        if self.state is CLOSED:
            return
        self._goes_first = self._dispatch.goes_first(head)
        self._exchange, self._arrived_us = None, arrived_us
        self._incoming.put_back(request)
        self._incoming.pause()
        self._wait_for(MOVING)
        if self._transport.get_write_buffer_size():
            self._deadline.after(self._unread_seconds())
            self._transport.set_write_buffer_limits(0)  # it moves once the client has all earlier answers
        else:
            self._try_to_move()

    def _try_to_move(self) -> None:
        if self.state is not MOVING:
            return
        descriptor = self._transport.get_extra_info("socket").fileno()
        lane, goes_first = self._shared.lane, self._goes_first
        match lane.send(descriptor, self._incoming.all(), self._arrived_us, goes_first=goes_first):
            case MoveResult.MOVED:  # aborting it here closes only this process's descriptor
                self.abort("moved")
            case MoveResult.BUSY:
                lane.wait(self._loop, self._try_to_move, goes_first=goes_first)
            case MoveResult.ALONE:
                self._stay()
            case MoveResult.TOO_LARGE:
                self._refuse(Overloaded("The request is too large to be handed to the other lane of this replica"))

    def _stay(self) -> None:
        """The other lane ends, so the request is answered here."""
        self._stays = True
        self._transport.set_write_buffer_limits()
        self._wait_for(IDLE)  # from where a whole head leads to the time limit of a body
        self._incoming.resume()
        self._read_head()

    # Sending and closing.

    def pause_writing(self) -> None:
        """The client does not read; it has limited time to start again."""
        if self.state in {ANSWERING, UNREAD}:
            self._deadline.after(self._unread_seconds())
        self.outgoing.fill()
        owed = 0 if self._exchange is None else self._exchange.owed
        self._shared.stall(self, self._transport.get_write_buffer_size() + owed)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._make_room()
        if self.state is ANSWERING:
            self._deadline.never()
        elif self.state is UNREAD:
            self._next()
        elif self.state is MOVING:
            self._wait_for(MOVING)
            self._try_to_move()

    def _make_room(self) -> None:
        self._shared.go_on(self)
        self.outgoing.make_room()

    def keeps_open(self, exchange: Exchange) -> bool:
        """True if another request may follow the one that is about to be answered."""
        is_last = (self._is_draining or self._is_half_closed) and not self._incoming
        return exchange.head.keep_alive and exchange.rest_is_short and not is_last

    def common_headers(self) -> bytes:
        """The headers of every answer."""
        return self._shared.encoded(self._server.default_headers)

    def answered(self) -> None:
        """The answer is written in full; the next request waits until the client has read most of it."""
        if self.state is CLOSED:
            return
        self._server.total_requests += 1
        if self.outgoing.is_full:
            self.state = UNREAD
            self._deadline.after(self._unread_seconds())
        else:
            self._next()

    def _next(self) -> None:
        """Go on to the next request, to the rest of this one's body, or to the end of the connection."""
        exchange = cast("Exchange", self._exchange)
        if not exchange.keep_alive or exchange.error is not None:
            self._end("finished")
        elif exchange.is_complete:
            self._exchange = None
            self._wait_for(IDLE)
            self._incoming.resume()
            if self._incoming:
                self._read_head()
            elif self._is_half_closed:
                self._end("client")
        else:
            exchange.drop_received()
            self._wait_for(DISCARDING)
            self._incoming.resume()
            self._read_body(self._incoming.take())

    def _break_off(self, error: AppError) -> None:
        """The incoming bytes can never become a request.

        Tell an exchange that is already answering; its answer is the last.
        """
        exchange = self._exchange
        if self.state is DISCARDING:
            self._end("refused")
        elif exchange is None or not exchange.is_started:
            self._refuse(error)
        else:
            self._incoming.take()
            self._answer_in_time()
            exchange.break_off(error)

    def crowd_out(self) -> None:
        """Refuse its requests: its address has too many connections."""
        self._refuse(Overloaded("This address has too many connections to this replica; use those that it has"))

    def _refuse(self, error: AppError) -> None:
        """Answer a malformed request; the connection then closes."""
        self.outgoing.write(encode_answer(error_answer(error), self.common_headers(), keep_alive=False))
        self._end("timeout" if isinstance(error, RequestTimeout) else "refused")

    def _end(self, reason: str) -> None:
        """Close, but not while data is still arriving: that would reset the answer (RFC 9112, section 9.6)."""
        self.reason = reason
        is_whole = self._exchange is not None and self._exchange.is_complete and not self._incoming
        self._incoming.take()
        self.state = LINGERING
        self._deadline.after(min(LINGERING.seconds, self._unread_seconds()))
        if self._is_half_closed or is_whole:
            self._transport.close()
        elif not self._transport.is_closing():
            self._incoming.resume()
            self._transport.write_eof()

    def abort(self, reason: str) -> None:
        """Close at once; whatever the client has not read is lost."""
        self.reason = reason
        self.state = CLOSED
        self._deadline.never()
        self._transport.abort()

    def _expire(self) -> None:
        """The time limit of the state has passed."""
        match self.state:
            case State.IDLE:
                self.abort("drained" if self._is_draining else "idle")
            case State.HEAD if self._is_draining:
                self.abort("drained")
            case State.HEAD | State.BODY:
                seconds = BODY.drain_seconds if self._is_draining else BODY.seconds
                self._break_off(RequestTimeout(f"The request was not complete after {seconds:.0f} seconds"))
            case State.ANSWERING | State.UNREAD:
                self.abort("unread")
            case State.MOVING if not self._transport.get_write_buffer_size():
                self._refuse(Overloaded("This replica has too many requests that take long; nothing was done"))
            case State.MOVING:
                self.abort("unread")
            case State.LINGERING:
                self.abort(self.reason)
            case _:
                self.abort("timeout")

    def _wait_for(self, state: State) -> None:
        self.state = state
        self._deadline.after(state.drain_seconds if self._is_draining else state.seconds)

    def _answer_in_time(self) -> None:
        """Stop the timer while the answer is made; only its reader has a time limit."""
        self.state = ANSWERING
        if self.outgoing.is_full:
            self._deadline.after(self._unread_seconds())
        else:
            self._deadline.never()

    def _unread_seconds(self) -> float:
        """Seconds that the client may leave an answer unread; fewer for a stream or export when the replica stops."""
        if not self._is_draining:
            return UNREAD.seconds
        is_long = self._exchange is not None and self._exchange.is_long
        return DRAIN_IDLE_SECONDS if is_long else UNREAD.drain_seconds


def _incomplete() -> Invalid:
    return Invalid.at("HTTP", "the request ended before it was complete")


class Deadline:
    """Calls `expired` once the time set last has passed.

    Setting it only stores a number. The loop's timer is moved only if it would fire too late; if it fires too early, it
    is set again.
    """

    __slots__ = ("_due", "_expired", "_loop", "_tick", "_tick_at")

    def __init__(self, loop: asyncio.AbstractEventLoop, expired: Callable[[], None]) -> None:
        self._loop, self._expired = loop, expired
        self._due = self._tick_at = NEVER
        self._tick: asyncio.TimerHandle | None = None

    def after(self, seconds: float) -> None:
        """Expire after this many seconds, replacing any earlier setting."""
        self._due = self._loop.time() + seconds
        if self._due < self._tick_at:
            self._schedule()

    def never(self) -> None:
        """Do not expire."""
        self._due = NEVER

    def end(self) -> None:
        """Cancel the loop's timer, and forget what it would have called."""
        self.never()
        self._expired = lambda: None
        if self._tick is not None:
            self._tick.cancel()

    def _schedule(self) -> None:
        if self._tick is not None:
            self._tick.cancel()
        self._tick_at = self._due
        self._tick = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._tick, self._tick_at = None, NEVER
        if self._due <= self._loop.time():
            self.never()
            self._expired()
        elif self._due < NEVER:
            self._schedule()
