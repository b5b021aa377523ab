"""Decides who answers a request: the hot path takes calls, the application everything else."""

import asyncio
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.server import ServerState

from app.http.api.service import PROBES
from app.http.application import Application, needs_key
from app.http.authentication import has_worked, is_refused, known_caller
from app.http.hot_path import IN_THE_LOOP_BYTES, respond
from app.http.protocol.body import ChunkedBody
from app.http.protocol.exchange import Ends, Exchange, ExchangeOwner, scope_of
from app.http.protocol.head import CHUNKED, RequestHead
from app.http.protocol.incoming import Incoming
from app.replica import Decisions
from app.runtime.lanes.lane import Lane, MoveToSlowLane

_MOST_LINES = 100
"""The most lines of a short body in chunks. A chunk has two, so a body of 16 KiB may come in chunks of 350 bytes. Each
takes 3 us, and the sender is not known yet.
"""


class Dispatch:
    """Hands requests of one connection to the hot path or to the application.

    The hot path is used only if the application is Remit's own. Any other may be a middleware that must see every
    request, so it gets them all.
    """

    def __init__(
        self,
        config: Config,
        server: ServerState,
        app_state: dict[str, Any],
        loop: asyncio.AbstractEventLoop,
        transport: asyncio.BaseTransport,
        lane: Lane,
    ) -> None:
        self._lane = lane
        self._application = config.loaded_app
        self._tasks, self._app_state, self._loop = server.tasks, app_state, loop
        self._ends = Ends.of(transport)
        self._decisions: Decisions | None = None
        if isinstance(self._application, Application):
            self._decisions = self._application.state.services.decisions

    @property
    def peer(self) -> str | None:
        """The address at the other end of the connection."""
        return self._ends.peer

    def takes(self, head: RequestHead, incoming: Incoming) -> bool:
        """True if this lane answers the request: the fast one answers short calls, the slow one everything else.

        The fast one also answers probes, and clients that it refuses for what their headers say, so that neither waits
        for the slow one, nor anybody for them.

        incoming: what follows the head. A body in chunks is short if all of it has come with the head, in few chunks.
        Raises Invalid or HeadTooLarge if its chunks are malformed.
        """
        lane = self._lane
        if lane.is_alone:
            return True
        is_short = head.door is not None and head.length <= IN_THE_LOOP_BYTES
        if is_short and head.length == CHUNKED:
            is_short = _is_short_body(head, incoming.all())
        if is_short or self._decisions is None:
            return lane.is_fast is is_short
        method, path, is_door = head.method.decode(), head.target.partition(b"?")[0].decode(), head.door is not None
        if method == "GET" and path in PROBES:
            return lane.is_fast
        if not lane.is_fast:
            return True
        has_guard = is_door or needs_key(method, path)
        return has_guard and is_refused(self._decisions, self.peer, head.headers, cookies=not is_door)

    def goes_first(self, head: RequestHead) -> bool:
        """True if the request moves before those of strangers: its key has worked on this replica.

        Only the slow lane is ever behind.
        """
        return not self._lane.is_fast or self._decisions is None or has_worked(self._decisions, head.headers)

    def open(self, owner: ExchangeOwner, head: RequestHead) -> Exchange:
        """An exchange for the request with this head. Raises Invalid if its target is malformed."""
        door = None if self._decisions is None else head.door
        scope = scope_of(head, self._ends, self._app_state) if door is None else None
        return Exchange(owner, head, self._ends.peer, scope, door)

    def can_wait(self, exchange: Exchange) -> bool:
        """True if processing may wait until the body has arrived: only for a call from a caller this replica knows.

        A client that expects 100 Continue sends the body only once it has been asked for.
        """
        decisions = self._decisions
        if exchange.scope is not None or decisions is None or exchange.head.expects:
            return False
        return known_caller(decisions, exchange.headers) is not None

    def start(self, exchange: Exchange) -> None:
        """Process the request; if it is being processed already, tell it that more of its body has arrived."""
        if exchange.is_started:
            exchange.wake()
            return
        exchange.is_started = True
        exchange.task = self._loop.create_task(self._answer(exchange))
        self._tasks.add(exchange.task)

    async def _answer(self, exchange: Exchange) -> None:
        """Answer the exchange, whatever is raised on the way."""
        try:
            if exchange.door is not None:
                exchange.finish(await respond(cast("Decisions", self._decisions), exchange.door, exchange))
            else:
                await self._application(cast("Any", exchange.scope), exchange.receive, exchange.send)
                if not (exchange.is_answered or exchange.is_gone):
                    raise RuntimeError("the application has not answered")  # noqa: TRY301 - one way out of all failures
        except MoveToSlowLane:
            exchange.move()
        except Exception as error:  # noqa: BLE001 - nothing else answers for what is not foreseen
            exchange.fail(error)
        finally:
            self._tasks.discard(exchange.task)
            if exchange.error is not None:
                exchange.error.with_traceback(
                    None
                )  # its frames refer back to the exchange (see `app.runtime.gc_freeze`)


def _is_short_body(head: RequestHead, incoming: bytes) -> bool:
    body, taken = ChunkedBody(len(head.raw)), bytearray()
    body.feed(incoming, taken, _MOST_LINES)
    return body.is_complete and len(taken) <= IN_THE_LOOP_BYTES
