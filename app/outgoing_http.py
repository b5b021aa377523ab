"""Requests to other services: bounded in time and size, without redirects, second attempts or proxies."""

import asyncio
import ssl
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import httpcore

CONNECT_S = 5.0
_FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    OSError,
)


class Unanswered(Exception):
    """There is no answer. The message says what the other service did; it shows nothing of the request.

    cause: the failure; None if the answer was too long.
    """

    def __init__(self, message: str, cause: Exception | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class Answer(NamedTuple):
    """An answer of any status. body: empty if it was not to be read."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes


async def request(
    method: str,
    url: httpcore.URL | str,
    headers: Sequence[tuple[str, str]],
    content: bytes | None = None,
    *,
    seconds: float,
    most: int,
    backend: httpcore.AsyncNetworkBackend | None = None,
) -> Answer:
    """The answer to one request.

    seconds: for all of it. most: bytes that the body may have; 0 = it is not read. backend: what connects; its own
    errors are raised unchanged. Raises Unanswered.
    """
    times: dict[str, Any] = {"connect": CONNECT_S, "read": seconds, "write": seconds}
    try:
        async with (
            asyncio.timeout(seconds),
            httpcore.AsyncConnectionPool(ssl_context=_tls(), retries=0, network_backend=backend) as pool,
            pool.stream(method, url, headers=headers, content=content, extensions={"timeout": times}) as answer,
        ):
            body = await _read(answer, most) if most else b""
            return Answer(int(answer.status), answer.headers, body)
    except _FAILURES as error:
        raise Unanswered(f"gave no answer ({type(error).__name__})", error) from None


async def _read(answer: httpcore.Response, most: int) -> bytes:
    """The body. Raises Unanswered if it has more bytes than `most`."""
    body = bytearray()
    async for piece in answer.aiter_stream():
        body += piece
        if len(body) > most:
            raise Unanswered(f"answered more than {most} bytes")
    return bytes(body)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
