"""HTTP/1.1 on asyncio alone: httpx takes several times the CPU time for the same bytes.

`AsyncRemit` uses this unless it is given httpx options or the environment names a proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import threading
import time
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from remit_client._async.connections import AsyncConnections
from remit_client._async.io import Watch, deadline
from remit_client.http_answers import AnswerReader, TooLarge
from remit_client.idle_connections import IdleConnections
from remit_client.plain_requests import (
    IDLE_S,
    LEFT_EARLY,
    MOST_AT_ONCE,
    TOO_MANY,
    host_and_port,
    is_quiet,
    request_bytes,
)
from remit_client.wire import Answer, Call, Settings


class PlainConnections(AsyncConnections):
    """Connections that stay open for a while. Each belongs to one event loop and carries one request at a time."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._by_loop: WeakKeyDictionary[object, _LoopConnections] = WeakKeyDictionary()
        self._tls: Any = None

    async def _answer(self, call: Call[Any], headers: dict[str, str], content: bytes | None, watch: Watch) -> Answer:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # trio
            return await super()._answer(call, headers, content, watch)
        request = request_bytes(self._settings.url(call), call, headers, content)
        mine = self._mine(loop)
        await self._take_place(mine.limit, watch)
        try:
            connection = mine.idle.take() or await self._connect(loop, watch)
            answer = await connection.ask(request, watch.until)
            mine.idle.keep(connection)
        except TooLarge:
            raise self._settings.too_large(call) from None
        finally:
            mine.limit.release()
        return answer

    def forget_idle(self) -> None:
        """The next request on this loop opens a connection of its own."""
        with contextlib.suppress(RuntimeError):  # trio
            self._mine(asyncio.get_running_loop()).idle.close()

    async def aclose(self) -> None:
        """Close the connections that this loop has opened, httpx's included."""
        await super().aclose()
        try:
            mine = self._by_loop.pop(asyncio.get_running_loop(), None)
        except RuntimeError:  # trio
            return
        if mine is not None:
            mine.idle.close()

    def _mine(self, loop: asyncio.AbstractEventLoop) -> _LoopConnections:
        self._forget_other_process()
        mine = self._by_loop.get(loop)
        if mine is None:
            for other in list(self._by_loop):
                if other.is_closed():  # type: ignore[attr-defined]
                    del self._by_loop[other]
            mine = self._by_loop[loop] = _LoopConnections()
        return mine

    def _forget_other_process(self) -> None:
        if self._process != os.getpid():
            self._by_loop = WeakKeyDictionary()
        super()._forget_other_process()

    async def _take_place(self, limit: asyncio.Semaphore, watch: Watch) -> None:
        """Be one of the requests under way. Raises PoolTimeout."""
        if limit.locked():
            try:
                with watch.waiting():
                    await limit.acquire()
            except TimeoutError:
                raise httpx.PoolTimeout(TOO_MANY) from None
        else:
            await limit.acquire()

    async def _connect(self, loop: asyncio.AbstractEventLoop, watch: Watch) -> _Connection:
        url = self._settings.authorize_url
        secure = url.scheme == "https"
        if secure and self._tls is None:
            self._tls = httpx.create_ssl_context()
        host, port = host_and_port(url)
        until = time.monotonic() + min(self._settings.connect_timeout, watch.left())
        with deadline(until - time.monotonic()):
            addresses = await _addresses(loop, host, port)
        failed: OSError | None = None
        for place, (family, kind, protocol, _, address) in enumerate(addresses):
            opened = socket.socket(family, kind, protocol)
            try:
                opened.setblocking(False)
                # An address that does not answer leaves time for the ones after it.
                with deadline((until - time.monotonic()) / (len(addresses) - place)):
                    await loop.sock_connect(opened, address)
                    named = {"ssl": self._tls, "server_hostname": host} if secure else {}
                    _, connection = await loop.create_connection(_Connection, sock=opened, **named)
                    return connection
            except BaseException as error:
                opened.close()
                if not isinstance(error, OSError) or isinstance(error, ssl.SSLError):
                    raise
                if failed is None or isinstance(failed, ConnectionRefusedError):
                    failed = error  # unless all addresses refuse, what counts is how another one failed
        raise failed or OSError(f"{host} has no address")


async def _addresses(loop: asyncio.AbstractEventLoop, host: str, port: int) -> list[Any]:
    """The addresses of a host, looked up in a thread of its own: slow tools may have taken all of the loop's."""
    with contextlib.suppress(socket.gaierror):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    found: asyncio.Future[list[Any]] = loop.create_future()

    def deliver(set_result: Any, result: Any) -> None:
        if not found.done():
            set_result(result)

    def look_up() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            try:
                addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                loop.call_soon_threadsafe(deliver, found.set_result, addresses)
            except (OSError, UnicodeError) as error:
                loop.call_soon_threadsafe(deliver, found.set_exception, error)

    threading.Thread(target=look_up, daemon=True).start()
    return await found


class _LoopConnections:
    """The idle connections of one event loop, and its limit."""

    def __init__(self) -> None:
        self.idle: IdleConnections[_Connection] = IdleConnections()
        self.limit = asyncio.Semaphore(MOST_AT_ONCE)


class _Connection(asyncio.Protocol):
    """One connection, which carries one request after another."""

    def __init__(self) -> None:
        self.stays_open = False
        self._idle_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._transport: Any = None
        self._answered: asyncio.Future[Answer] | None = None
        self._reader = AnswerReader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    async def ask(self, request: bytes, until: float) -> Answer:
        """The answer. Raises httpx.HTTPError, OSError, TimeoutError at `until`, TooLarge."""
        loop = asyncio.get_running_loop()
        if self._transport.is_closing():
            raise httpx.RemoteProtocolError(LEFT_EARLY)
        answered: asyncio.Future[Answer] = loop.create_future()
        self._answered = answered
        timer = loop.call_later(until - time.monotonic(), self._fail, TimeoutError())
        try:
            self._transport.write(request)
            return await answered
        except BaseException:  # even if cancelled: the next request must not read this one's answer
            self._answered = None
            with contextlib.suppress(RuntimeError):  # the loop is closed, and its sockets with it
                self._transport.abort()
            raise
        finally:
            timer.cancel()

    def is_fresh(self) -> bool:
        if self._transport.is_closing() or time.monotonic() - self._idle_since > IDLE_S:
            return False
        return is_quiet(self._transport.get_extra_info("socket"))

    def close(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        if self._answered is None:  # no request is waiting
            self._transport.abort()
            return
        try:
            answer = self._reader.feed(data)
        except (httpx.HTTPError, TooLarge) as error:
            self._fail(error)
            return
        if answer is not None:
            answered, self._answered = self._answered, None
            self.stays_open, self._idle_since = self._reader.can_go_on, time.monotonic()
            if self._timer is None:
                self._close_after(IDLE_S)
            if not answered.done():
                answered.set_result(answer)

    def _close_after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._close_if_idle)

    def _close_if_idle(self) -> None:
        """Even if nothing asks again: an adapter that is made for one run is forgotten, and never closed."""
        self._timer = None
        left = self._idle_since + IDLE_S - time.monotonic()
        if self._answered is None and left > 0:
            self._close_after(left)
        elif self._answered is None:
            self._transport.close()

    def eof_received(self) -> None:
        self.data_received(b"")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or httpx.RemoteProtocolError(LEFT_EARLY))

    def _fail(self, error: Exception) -> None:
        answered, self._answered = self._answered, None
        if answered is not None and not answered.done():
            answered.set_exception(error)
        self._transport.abort()
