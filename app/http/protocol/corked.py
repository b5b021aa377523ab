"""An HTTP protocol whose answers leave in one write: uvicorn writes head and body apart, two system calls."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class CorkedTransport:
    """A transport that holds what is written until the loop comes round, then writes it at once.

    Closing writes first what is held. Everything else is the transport's own, flow control included.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)

    def write_whole(self, data: bytes) -> None:
        """Write an answer that is complete, after what is held."""
        if self._held:
            self._held.append(data)
        else:
            self._transport.write(data)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():
            self._transport.write(b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class CorkedHttpProtocol(HttpToolsProtocol):
    """uvicorn's httptools protocol on a corked transport."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Cork the connection before uvicorn sees it."""
        corked = CorkedTransport(cast("asyncio.Transport", transport), self.loop)
        super().connection_made(cast("asyncio.Transport", corked))
