# Written by unasync.py from _async/connections.py; change that.
"""One exchange with the service: whatever goes wrong in it is Unavailable, or Interrupted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import httpx

from remit_client._sync.io import ClientOfEachLoop, HttpClient, deadline
from remit_client.wire import MAX_ANSWER_BYTES, Answer, Call, Settings, encode, interpret, told_length


class Connections:
    """Connections that stay open; a forked process gets its own, or it would read what its parent asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clients = ClientOfEachLoop()
        self._process = os.getpid()

    def exchange(self, call: Call[Any], content: bytes | None, until: float) -> Answer:
        """Status, headers and body. until: of time.monotonic(). Raises Unavailable, MalformedAnswer."""
        settings = self._settings
        headers, question = settings.headers_of(call)
        try:
            answer = self._answer(call, headers, content, until)
        except (httpx.HTTPError, OSError, TimeoutError, UnicodeError) as error:  # the last: a name that DNS cannot have
            raise settings.unreachable(error) from error
        except (RuntimeError, httpx.StreamError) as error:
            raise settings.interrupted(error) from error
        if time.monotonic() > until:
            raise settings.late()
        settings.require_own(answer, question)
        return answer

    def lines(self, call: Call[Any]) -> Iterator[str]:
        """The lines of an answer that goes on for as long as it likes. Raises RemitError."""
        settings = self._settings
        try:
            with self._client().stream(
                call.method,
                settings.url(call),
                content=encode(call.body),
                headers=_in_bytes(settings.headers_of(call)[0]),
                timeout=settings.limits(call),
            ) as response:
                if not response.is_success:
                    interpret(call, settings, response.status_code, response.headers, response.read())
                for line in response.iter_lines():
                    yield line
        except (httpx.HTTPError, OSError) as error:
            raise settings.unreachable(error) from error

    def close(self) -> None:
        """The connections that were opened here are closed."""
        client = self._clients.pop()
        if client is not None:
            client.close()

    def _answer(self, call: Call[Any], headers: dict[str, str], content: bytes | None, until: float) -> Answer:
        """The answer; raises as httpx does, and TimeoutError."""
        settings = self._settings
        with deadline(until - time.monotonic()):
            client = self._client()
            request = client.build_request(
                call.method,
                settings.url(call),
                content=content,
                headers=_in_bytes({**headers, "Accept-Encoding": "identity"}),
                timeout=settings.limits(call),
            )
            response = client.send(request, stream=True)
            try:
                body = bytearray()
                # Undecoded: a few packed bytes can become more than there is memory for, and Remit packs no answer.
                for chunk in response.iter_raw():
                    body += chunk
                    if max(len(body), told_length(response.headers)) > MAX_ANSWER_BYTES:
                        raise settings.too_large(call)
                    if time.monotonic() > until:
                        raise TimeoutError
            finally:
                response.close()
        return response.status_code, response.headers, bytes(body)

    def _client(self) -> HttpClient:
        self._forget_other_process()
        client = self._clients.get()
        if client is None:
            client = HttpClient(**self._settings.options)
            self._clients.put(client)
        return client

    def _forget_other_process(self) -> None:
        if self._process != os.getpid():
            self._process, self._clients = os.getpid(), ClientOfEachLoop()


def _in_bytes(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode()) for name, value in headers.items()]  # httpx would take ASCII alone
