"""X-Request-ID: the caller's if it can be logged safely, otherwise a new one; always returned.

The authorize route returns the header, too, but logs no line per request: its record is the audit log.
"""

import logging
import re
import secrets
import time
from collections.abc import Iterable
from typing import Any

from litestar.types import ASGIApp, HTTPScope, Message, Receive, Send

from app.http.answers import Header
from app.logs import REQUEST_ID

log = logging.getLogger(__name__)
REQUEST_ID_HEADER = b"x-request-id"
_QUIET = frozenset({"GET", "HEAD", "OPTIONS"})
_is_fit = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch


def fit_request_id(given: bytes | None) -> bytes | None:
    """The header's value if it is 1 to 128 visible ASCII characters, else None."""
    return given if given is not None and _is_fit(given) else None


def request_id_of(headers: Iterable[Header]) -> bytes:
    """The caller's id of this request, or a new one."""
    given = next((value for name, value in headers if name == REQUEST_ID_HEADER), None)
    return fit_request_id(given) or secrets.token_hex(16).encode()


def request_id_header(request_id: bytes) -> Header:
    """The header that returns it."""
    return REQUEST_ID_HEADER, request_id


async def answer_with_request_id(app: ASGIApp, scope: HTTPScope, receive: Receive, send: Send) -> None:
    """Run `app`; its answer and every line logged meanwhile carry the request's id.

    A change is logged at level info, a read at debug, a server error at warning.
    """
    request_id = request_id_of(scope["headers"])
    began, status = time.monotonic(), 0

    async def send_with_id(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            message["headers"] = [*message.get("headers", ()), request_id_header(request_id)]
        await send(message)

    outer = REQUEST_ID.set(request_id.decode())
    try:
        await app(scope, receive, send_with_id)
    finally:
        level = logging.WARNING if status >= 500 else logging.DEBUG if scope["method"] in _QUIET else logging.INFO  # noqa: PLR2004 - 5xx
        if log.isEnabledFor(level):
            fields = {"status": status, "ms": round((time.monotonic() - began) * 1000, 3), **_caller_of(scope)}
            log.log(level, "%s %s", scope["method"], scope["path"], extra=fields)
        REQUEST_ID.reset(outer)


def _caller_of(scope: HTTPScope) -> dict[str, Any]:
    caller = scope.get("state", {}).get("caller")
    return {} if caller is None else {"workspace_id": caller.workspace_id, "key_id": caller.key_id}
