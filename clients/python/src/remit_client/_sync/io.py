"""What differs between the two clients, here without an event loop. `_async/io.py` is its twin."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import httpx

HttpClient = httpx.Client
pause = time.sleep


def deadline(seconds: float) -> AbstractContextManager[Any]:
    """Nothing: a thread cannot be interrupted, so each read has a timeout and the time is looked at in between."""
    return nullcontext(seconds)


class ClientOfEachLoop:
    """One HTTP client: all threads share its connections."""

    def __init__(self) -> None:
        self._client: HttpClient | None = None

    def get(self) -> HttpClient | None:
        """The client, if there is one."""
        return self._client

    def put(self, client: HttpClient) -> None:
        """The client is this one."""
        self._client = client

    def pop(self) -> HttpClient | None:
        """The client, which is forgotten."""
        client, self._client = self._client, None
        return client
