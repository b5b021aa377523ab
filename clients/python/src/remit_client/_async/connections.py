"""Connections made by httpx. Every failure on them becomes a RemitError."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import httpx

from remit_client._async.io import ClientPerLoop, HttpClient, Watch, over_socket
from remit_client.wire import MAX_ANSWER_BYTES, Answer, Call, Settings, declared_length, encode, interpret


class AsyncConnections:
    """Connections that stay open. A forked process opens its own, or it would read answers meant for its parent."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clients = ClientPerLoop()
        self._process = os.getpid()

    async def exchange(self, call: Call[Any], content: bytes | None, until: float) -> Answer:
        """Status, headers and body of the answer. Raises Unavailable, Interrupted, MalformedAnswer.

        until: the deadline, by time.monotonic().
        """
        settings = self._settings
        headers, request_id = settings.headers_of(call)
        watch = Watch(until)
        try:
            answer = await self._answer(call, headers, content, watch)
        except (httpx.HTTPError, OSError, TimeoutError, UnicodeError) as error:  # UnicodeError: not a valid host name
            raise settings.unreachable(error) from error
        except (RuntimeError, httpx.StreamError) as error:
            raise settings.interrupted(error) from error
        if watch.left() < 0:
            raise settings.late()
        settings.require_answer_to(answer, request_id)
        return answer

    async def lines(self, call: Call[Any]) -> AsyncIterator[str]:
        """The lines of an answer that may go on for ever. Raises RemitError."""
        settings = self._settings
        try:
            async with self._client().stream(
                call.method,
                settings.url(call),
                content=encode(call.body),
                headers=_in_bytes(settings.headers_of(call)[0]),
                timeout=settings.limits(call),
            ) as response:
                if not response.is_success:
                    interpret(call, settings, response.status_code, response.headers, await response.aread())
                async for line in response.aiter_lines():
                    yield line
        except (httpx.HTTPError, OSError) as error:
            raise settings.unreachable(error) from error

    def forget_idle(self) -> None:
        """The next request opens a connection of its own, if these connections are not httpx's."""

    async def aclose(self) -> None:
        """Close the connections that this loop has opened."""
        client = self._clients.pop()
        if client is not None:
            await client.aclose()

    async def _answer(self, call: Call[Any], headers: dict[str, str], content: bytes | None, watch: Watch) -> Answer:
        """The answer. Raises what httpx raises, and TimeoutError."""
        settings = self._settings
        with watch.waiting():
            client = self._client()
            request = client.build_request(
                call.method,
                settings.url(call),
                content=content,
                headers=_in_bytes({**headers, "Accept-Encoding": "identity"}),
                timeout=settings.limits(call),
            )
            response = await client.send(request, stream=True)
            try:
                body = bytearray()
                # Raw: a few compressed bytes could decode to more than memory holds, and Remit compresses no answer.
                async for chunk in response.aiter_raw():
                    body += chunk
                    if max(len(body), declared_length(response.headers)) > MAX_ANSWER_BYTES:
                        raise settings.too_large(call)
                    if watch.left() < 0:
                        raise TimeoutError
            finally:
                await response.aclose()
        return response.status_code, response.headers, bytes(body)

    def _client(self) -> HttpClient:
        self._forget_other_process()
        client = self._clients.get()
        if client is None:
            client = HttpClient(**over_socket(self._settings.socket), **self._settings.options)
            self._clients.put(client)
        return client

    def _forget_other_process(self) -> None:
        if self._process != os.getpid():
            self._process, self._clients = os.getpid(), ClientPerLoop()


def _in_bytes(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [
        (name.encode("ascii"), value.encode()) for name, value in headers.items()
    ]  # httpx accepts only ASCII in strings
