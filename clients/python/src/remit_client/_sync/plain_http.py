"""HTTP/1.1 on plain sockets, so that one deadline holds from the first byte to the last.

httpx limits only each read: a server that sends a byte of a header now and then can hold its caller for ever. `Remit`
uses this unless it is given httpx options or the environment names a proxy. Written by hand, like its twin in `_async`.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from typing import Any

import httpx

from remit_client._sync.connections import Connections
from remit_client._sync.io import Watch
from remit_client.http_answers import AnswerReader, TooLarge
from remit_client.idle_connections import IdleConnections
from remit_client.plain_requests import (
    IDLE_S,
    LEFT_EARLY,
    MOST_AT_ONCE,
    TOO_MANY,
    is_quiet,
    host_and_port,
    request_bytes,
)
from remit_client.wire import Answer, Call, Settings

CHUNK = 1 << 16


class PlainConnections(Connections):
    """Connections that stay open for a while. All threads share them; each carries one request at a time."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._tls: ssl.SSLContext | None = None
        self._begin()

    def _begin(self) -> None:
        self._idle: IdleConnections[_Connection] = IdleConnections()  # shared by threads
        self._limit = threading.BoundedSemaphore(MOST_AT_ONCE)

    def _answer(self, call: Call[Any], headers: dict[str, str], content: bytes | None, watch: Watch) -> Answer:
        request = request_bytes(self._settings.url(call), call, headers, content)
        self._forget_other_process()
        limit = self._limit
        if not limit.acquire(timeout=max(0.0, watch.left())):
            raise httpx.PoolTimeout(TOO_MANY)
        try:
            connection = self._idle.take() or self._connect(watch)
            try:
                answer = connection.ask(request, watch)
            except BaseException:  # even if interrupted: the next request must not read this one's answer
                connection.close()
                raise
            self._idle.keep(connection)
        except TooLarge:
            raise self._settings.too_large(call) from None
        finally:
            limit.release()
        return answer

    def forget_idle(self) -> None:
        """The next request opens a connection of its own."""
        self._idle.close()

    def close(self) -> None:
        """Close the connections, httpx's included."""
        super().close()
        self._idle.close()

    def _forget_other_process(self) -> None:
        if self._process != os.getpid():
            self._begin()
        super()._forget_other_process()

    def _connect(self, watch: Watch) -> _Connection:
        until = min(watch.until, time.monotonic() + self._settings.connect_timeout)
        url = self._settings.authorize_url
        host, port = host_and_port(url)
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        failed: OSError | None = None
        for place, (family, kind, protocol, _, address) in enumerate(addresses):
            opened = socket.socket(family, kind, protocol)
            try:
                # An address that does not answer leaves time for the ones after it.
                opened.settimeout(_left(until) / (len(addresses) - place))
                opened.connect(address)
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if url.scheme != "https":
                    return _Connection(opened)
                return _Connection(self._secured(opened, host, until))
            except BaseException as error:
                opened.close()
                if not isinstance(error, OSError) or isinstance(error, ssl.SSLError):
                    raise
                if failed is None or isinstance(failed, ConnectionRefusedError):
                    failed = error  # unless all addresses refuse, what counts is how another one failed
        raise failed or OSError(f"{host} has no address")

    def _secured(self, opened: socket.socket, host: str, until: float) -> socket.socket:
        if self._tls is None:
            self._tls = httpx.create_ssl_context()
        opened.settimeout(_left(until))
        return self._tls.wrap_socket(opened, server_hostname=host)


class _Connection:
    """One connection, which carries one request after another."""

    def __init__(self, opened: socket.socket) -> None:
        self.stays_open = False
        self._idle_since = 0.0
        self._socket = opened
        self._reader = AnswerReader()

    def ask(self, request: bytes, watch: Watch) -> Answer:
        """The answer. Raises httpx.HTTPError, OSError, TimeoutError at the deadline, TooLarge."""
        sent_whole = self._send(request, watch)
        while True:
            self._socket.settimeout(_left(watch.until))
            data = self._socket.recv(CHUNK)
            answer = self._reader.feed(data)
            if answer is not None:
                self.stays_open, self._idle_since = self._reader.can_go_on and sent_whole, time.monotonic()
                return answer
            if not data:
                raise httpx.RemoteProtocolError(LEFT_EARLY)

    def _send(self, request: bytes, watch: Watch) -> bool:
        """False: the server closed the connection before it had read everything.

        It may have answered first, for example that the body is too large.
        """
        self._socket.settimeout(_left(watch.until))
        try:
            self._socket.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def is_fresh(self) -> bool:
        return time.monotonic() - self._idle_since <= IDLE_S and is_quiet(self._socket)

    def close(self) -> None:
        self._socket.close()


def _left(until: float) -> float:
    """Seconds until then. Raises TimeoutError if it has passed: a socket takes 0 for "do not wait"."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
