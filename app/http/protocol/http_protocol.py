"""The protocol that uvicorn's server creates for each connection."""

import asyncio
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.server import ServerState

from app.http.protocol.connection import ClientConnection
from app.http.protocol.connections import Connections
from app.http.protocol.dispatch import Dispatch
from app.runtime.lanes.lane import MovedConnection


class HttpProtocol(asyncio.BufferedProtocol):
    """Tells a `ClientConnection` what happens to its socket, and the server which connections are open."""

    connection: ClientConnection

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
        """The first arguments are those that uvicorn gives. moved: the connection, if the other lane has sent it."""
        self._config, self._server, self._app_state = config, server_state, app_state
        self._shared, self._moved = shared, moved
        self._loop = _loop or asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The client has connected; the application has its services by now."""
        shared, server, loop = self._shared, self._server, self._loop
        moved, self._moved = self._moved, None  # its bytes belong to the connection now, which forgets them once read
        dispatch = Dispatch(self._config, server, self._app_state, loop, transport, shared.lane)
        self.connection = ClientConnection(cast("asyncio.Transport", transport), dispatch, server, shared, loop, moved)
        server.connections.add(cast("Any", self))
        shared.open += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why does not matter
        """The socket is closed."""
        self._server.connections.discard(cast("Any", self))
        self._shared.open -= 1
        self._shared.count(self.connection.reason)
        self.connection.lose()

    def shutdown(self) -> None:
        """The replica stops."""
        self.connection.drain()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - there is one buffer
        """The buffer for the loop's next read."""
        return self._shared.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """The loop has read this many bytes."""
        self.connection.received(bytes(self._shared.buffer[:nbytes]))

    def eof_received(self) -> bool:
        """The client has closed its sending side. Returns whether the socket stays open."""
        return self.connection.end_requests()

    def pause_writing(self) -> None:
        """The client does not read."""
        self.connection.stall()

    def resume_writing(self) -> None:
        """The client reads again."""
        self.connection.go_on()
