"""What the sync and the async `plain_http` share."""

from __future__ import annotations

import select
import socket
import sys
from typing import Any
from urllib.request import getproxies

import httpx

from remit_client.wire import Call, Settings

IDLE_S = 5.0
MOST_AT_ONCE = 100
TOO_MANY = "Too many requests under way"
LEFT_EARLY = "Server disconnected without sending a response."


def can_use_plain_http(settings: Settings) -> bool:
    """Whether our own connections will do: no httpx options are given, and the environment names no proxy."""
    return not settings.has_options and not any(map(getproxies().get, ("http", "https", "all")))


def host_and_port(url: httpx.URL) -> tuple[str, int]:
    """Host and port."""
    return url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)


def request_bytes(url: httpx.URL, call: Call[Any], headers: dict[str, str], content: bytes | None) -> bytes:
    """The bytes of a request. Raises httpx.LocalProtocolError if a header contains a line break."""
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line or "\0" in line for line in lines):
        raise httpx.LocalProtocolError("Illegal header value")
    if content is not None:
        lines.append(f"Content-Length: {len(content)}")
    first = f"{call.method} {url.raw_path.decode('ascii')} HTTP/1.1\r\nHost: {url.netloc.decode('ascii')}\r\n"
    return "\r\n".join([first + lines[0], *lines[1:], "", ""]).encode() + (content or b"")


def is_quiet(open_socket: socket.socket) -> bool:
    """Whether nothing can be read: the server has neither closed the connection nor sent anything unasked."""
    number = open_socket.fileno()
    if sys.platform == "win32":
        return not select.select([number], [], [], 0)[0]
    polled = select.poll()
    polled.register(number, select.POLLIN)
    return not polled.poll(0)
