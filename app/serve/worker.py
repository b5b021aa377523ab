"""One replica: two processes, its lanes (`app/runtime/lanes/lane.py`), that serve a socket passed to it.

Called in a fork of the supervisor. The lanes are forked from it, too.
"""

import asyncio
import contextlib
import gc
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial

import uvicorn

from app.http.protocol.connection import ClientConnection
from app.http.protocol.connections import Connections
from app.main import create_app
from app.replica import shared_limits
from app.runtime.gc_freeze import freeze_heap
from app.runtime.lanes.forks import forked
from app.runtime.lanes.heartbeats import Heartbeats
from app.runtime.lanes.lane import Lane, MovedConnection
from app.runtime.lanes.scheduling import let_others_go_first, take_short_turns
from app.runtime.metrics import Metrics
from app.serve.listeners import BACKLOG, accept_again, drain_accept_queue, is_open
from app.serve.tracing import traced
from app.settings import Settings

SWITCH_SECONDS = 0.0005
"""The interpreter's switch interval: a busy thread yields after this long if the loop wants to run. With Python's own 5
ms, the loop would wait that long at each wake-up, several times per decision.
"""


DRAIN_SECONDS = 20
"""The time that requests under way may take once a replica has been told to stop."""
LANES = ("remit-fast", "remit-slow")
"""The names of the two processes, as `ps` and `top` show them."""

_LOOK_SECONDS = 0.01


class Worker(uvicorn.Server):
    """A server of one lane. Its start-up heap is excluded from garbage collection, which took 30 to 40 ms a time.

    may_open: whether the replica's other parts can answer, so that its sockets may listen for the first time.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        lane: Lane,
        may_open: Callable[[], bool],
        on_start: Callable[[], None],
        on_stop: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._lane = lane
        self._may_open = may_open
        self._on_start = on_start
        self._on_stop = on_stop
        self._coming: set[asyncio.Task[None]] = set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer every accepted request; open streams have been told to end."""
        self._on_stop()
        came = [each for listener in sockets or [] for each in drain_accept_queue(listener)]
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in came:
            await self._serve_on(connection)
        self._lane.close(self._adopt)
        await asyncio.gather(*self._coming)
        await super().shutdown(sockets)

    async def _listen(self, loop: asyncio.AbstractEventLoop, listener: socket.socket) -> None:
        """Accept connections. A Unix socket is one that other replicas accept on, too."""
        create = loop.create_unix_server if listener.family == socket.AF_UNIX else loop.create_server
        self.servers.append(await create(lambda: self._protocol(loop, None), sock=listener, backlog=BACKLOG))
        accept_again(listener)

    def _adopt(self, moved: MovedConnection) -> None:
        """Serve a connection that the other lane has sent."""
        task = asyncio.get_running_loop().create_task(self._serve_on(moved.connection, moved))
        self._coming.add(task)
        task.add_done_callback(self._coming.discard)

    async def _serve_on(self, connection: socket.socket, moved: MovedConnection | None = None) -> None:
        """Serve the connection like those that the loop itself accepted."""
        loop = asyncio.get_running_loop()

        with contextlib.suppress(OSError):  # it may have gone already
            await loop.connect_accepted_socket(lambda: self._protocol(loop, moved), connection)

    def _protocol(self, loop: asyncio.AbstractEventLoop, moved: MovedConnection | None) -> asyncio.BaseProtocol:
        made: asyncio.BaseProtocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            _loop=loop,
            moved=moved,
        )
        return made

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Connect the application and serve. A socket listens once the whole replica can answer."""
        await super().startup([])
        loop = asyncio.get_running_loop()
        self._lane.listen(loop, self._adopt)
        gc.collect()
        freeze_heap()
        self._on_start()
        for listener in sockets or []:
            # One that listens already has clients that wait since this lane's predecessor ended.
            while not (is_open(listener) or self._may_open() or self.should_exit):  # noqa: ASYNC110 - another process's
                await asyncio.sleep(_LOOK_SECONDS)
            if not self.should_exit:
                await self._listen(loop, listener)


def _open_as_many_files_as_allowed() -> None:
    """Raise the limit of open files: with the usual 1,024, as many idle clients would keep all others out."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # a system that allows less keeps its limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def serve_replica(settings: Settings, listeners: list[socket.socket], shared: int, rows: int, row: int) -> None:
    """Serve in two processes until SIGTERM; then finish every request that was accepted.

    listeners: the replica's own socket, and one that all replicas share, if there is one. shared: the descriptor of the
    metrics' memory, which has so many rows. row: the first of this replica's two.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    _open_as_many_files_as_allowed()
    metrics = Metrics(shared, rows, row)
    lane = Lane(metrics.moved)

    async def refresh() -> None:
        metrics.refresh()

    limits = shared_limits(settings)
    app = create_app(settings, metrics, lane, limits)
    channels = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    freeze_heap()
    hearts = Heartbeats(len(LANES))

    def close_listeners() -> None:
        for listener in listeners:
            listener.close()

    place = forked(LANES, close_listeners, hearts)
    metrics.write_row(row + place)
    lane.attach(channels[place], is_fast=not place, can_hand_over=not settings.tracing)
    if place:
        let_others_go_first()
        close_listeners()
    else:
        take_short_turns()
    counted = limits.auth_failures.counted_peer
    connections = Connections(lane, per_address=settings.connections_per_address, address_of=counted)
    config = uvicorn.Config(
        traced(app, settings),
        loop="uvloop",  # asyncio's own loop loses TCP_NODELAY, which costs 43 ms a request
        http=partial(ClientConnection, shared=connections),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        callback_notify=refresh,
        timeout_notify=1,
    )

    def all_serve() -> bool:
        return not any(map(hearts.is_starting, range(len(LANES))))

    def keep_beating() -> None:
        hearts.keep_beating(place, asyncio.get_running_loop().call_later)

    def end_streams() -> None:
        app.state.services.streams.stopping.set()  # the services exist only once it serves

    Worker(config, lane, all_serve, keep_beating, end_streams).run(sockets=[] if place else listeners)
