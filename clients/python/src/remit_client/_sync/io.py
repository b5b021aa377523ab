"""What the two clients do differently, without an event loop. Its twin is `_async/io.py`."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import httpx

HttpClient = httpx.Client
pause = time.sleep


def over_socket(path: str | None) -> dict[str, Any]:
    """The options of an HTTP client that connects to this Unix socket; none for None."""
    return {} if path is None else {"transport": httpx.HTTPTransport(uds=path)}


class Watch:
    """The time that a request still has. until: when it ends, by time.monotonic()."""

    def __init__(self, until: float) -> None:
        self.until = until

    def left(self) -> float:
        """Seconds until the deadline; negative if it has passed."""
        return self.until - time.monotonic()

    def waiting(self) -> AbstractContextManager[None]:
        """A block that waits for the network. No thread can be interrupted, so what waits has a timeout."""
        return nullcontext()


class ClientPerLoop:
    """One HTTP client, whose connections all threads share."""

    def __init__(self) -> None:
        self._client: HttpClient | None = None

    def get(self) -> HttpClient | None:
        """The client, if there is one."""
        return self._client

    def put(self, client: HttpClient) -> None:
        """Make this the client."""
        self._client = client

    def pop(self) -> HttpClient | None:
        """Remove and return the client."""
        client, self._client = self._client, None
        return client
