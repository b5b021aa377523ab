"""What the two clients do differently, with an event loop. Its twin `_sync/io.py` is also written by hand."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

import anyio
import httpx

HttpClient = httpx.AsyncClient
pause = anyio.sleep


def over_socket(path: str | None) -> dict[str, Any]:
    """The options of an HTTP client that connects to this Unix socket; none for None."""
    return {} if path is None else {"transport": httpx.AsyncHTTPTransport(uds=path)}


def deadline(seconds: float) -> AbstractContextManager[Any]:
    """A block that is cancelled after `seconds` and then raises TimeoutError."""
    return anyio.fail_after(max(0.0, seconds))


class Watch:
    """The time that a request still has. until: when it ends, by time.monotonic()."""

    def __init__(self, until: float) -> None:
        self.until = until

    def left(self) -> float:
        """Seconds until the deadline; negative if it has passed."""
        return self.until - time.monotonic()

    def waiting(self) -> AbstractContextManager[Any]:
        """A block that raises TimeoutError at the deadline."""
        return deadline(self.left())


class ClientPerLoop:
    """One HTTP client per event loop, because a loop cannot use the connections of another."""

    def __init__(self) -> None:
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, HttpClient] = WeakKeyDictionary()
        self._elsewhere: HttpClient | None = None

    def get(self) -> HttpClient | None:
        """This loop's client, if it has one."""
        loop = _loop()
        return self._elsewhere if loop is None else self._clients.get(loop)

    def put(self, client: HttpClient) -> None:
        """Make this the loop's client."""
        loop = _loop()
        if loop is None:
            self._elsewhere = client
        else:
            for other in list(self._clients):
                if other.is_closed():  # its client would keep it alive
                    self._clients.pop(other, None)
            self._clients[loop] = client

    def pop(self) -> HttpClient | None:
        """Remove and return this loop's client."""
        loop = _loop()
        if loop is None:
            client, self._elsewhere = self._elsewhere, None
            return client
        return self._clients.pop(loop, None)


def _loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # trio
        return None
