"""What the two clients do differently, without an event loop. Its twin is `_async/io.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

HttpClient = httpx.Client
pause = time.sleep


def over_socket(path: str | None) -> dict[str, Any]:
    """The options of an HTTP client that connects to this Unix socket; none for None."""
    return {} if path is None else {"transport": httpx.HTTPTransport(uds=path)}


class Watch:
    """Measures how long a request had to wait for this program instead of the network.

    until: the deadline, by time.monotonic().
    """

    def __init__(self, until: float) -> None:
        self.until = until
        self._began = time.monotonic()
        self._waited = 0.0

    def left(self) -> float:
        """Seconds until the deadline; negative if it has passed."""
        return self.until - time.monotonic()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A block that waits for the network. No thread can be interrupted, so what waits has a timeout."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._waited += time.monotonic() - began

    def stop(self) -> float:
        """The seconds in which the request did not wait for the network."""
        return time.monotonic() - self._began - self._waited


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
