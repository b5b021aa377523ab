"""The target of a request, in each form that RFC 9112 allows, and the ASGI scope made from it."""

import asyncio
import re
from typing import Any, NamedTuple
from urllib.parse import unquote

from app.errors import Invalid
from app.http.protocol.head import RequestHead

_absolute = re.compile(rb"https?://[^/?]*([^?]*)(?:\?(.*))?", re.IGNORECASE).fullmatch


HALF_CLOSED = "half_closed"
"""An ASGI extension: an event that is set when the client closes its sending side. Whether it is gone altogether shows
only when something is written, so a long-silent answer then writes something.
"""


class Ends(NamedTuple):
    """The two ends of a connection: address and port, None where unknown."""

    client: tuple[str, int] | None
    server: tuple[str, int] | None

    @classmethod
    def of(cls, transport: asyncio.BaseTransport) -> "Ends":
        return cls(_end(transport.get_extra_info("peername")), _end(transport.get_extra_info("sockname")))

    @property
    def peer(self) -> str | None:
        return None if self.client is None else self.client[0]


def _end(name: Any) -> tuple[str, int] | None:
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None


def scope_of(head: RequestHead, ends: Ends, state: dict[str, Any]) -> dict[str, Any]:
    """The ASGI scope of a request. Raises Invalid if the target is malformed."""
    raw_path, query = split_target(head)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1" if head.minor else "1.0",
        "method": head.method.decode(),
        "scheme": "http",
        "path": unquote(raw_path.decode()),
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": list(head.headers),
        "client": ends.client,
        "server": ends.server,
        "state": state.copy(),
        "extensions": {HALF_CLOSED: asyncio.Event()},
    }


def split_target(head: RequestHead) -> tuple[bytes, bytes]:
    """The path of a request as written, and its query (RFC 9112, section 3.2). Raises Invalid."""
    target = head.target
    if head.method == b"CONNECT":
        raise Invalid.at("HTTP", "CONNECT asks for a tunnel, and there is none here")
    if target.startswith(b"/"):
        raw_path, _, query = target.partition(b"?")
        return raw_path, query
    if match := _absolute(target):
        return match[1] or b"/", match[2] or b""
    if target == b"*" and head.method == b"OPTIONS":
        return target, b""
    raise Invalid.at("HTTP", "the target of a request is a path, or a URL that begins with http://")
