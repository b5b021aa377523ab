"""Headers of requests: the key, the request's id, versions and reasons of changes, and what the hot path reads.

The authorize route returns X-Request-ID, too, but logs no line per request: its record is the audit log.
"""

import logging
import re
import secrets
import time
from collections.abc import Iterable
from typing import Any, Protocol

from litestar import Request
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Send
from msgspec import Struct

from app.errors import Invalid, Unauthorized, UnsupportedEncoding
from app.http.answers import Header
from app.model.actors import MAX_REASON
from app.model.api_keys import digest_of, is_raw_key, is_token
from app.model.text import require_visible
from app.runtime.logs import REQUEST_ID
from app.store.optimistic import Versions
from app.validation_messages import refusing_fields

log = logging.getLogger(__name__)
AUTHORIZATION = b"authorization"
IDEMPOTENCY_KEY = b"idempotency-key"
REQUEST_ID_HEADER = b"x-request-id"
CONTENT_ENCODING = b"content-encoding"
CHANGE_REASON_HEADER = "Change-Reason"
CALL_HEADERS = frozenset({AUTHORIZATION, CONTENT_ENCODING, IDEMPOTENCY_KEY, REQUEST_ID_HEADER})
"""What a program that asks about a call says in headers, besides what the door itself reads."""
_SCHEME = b"bearer "
_READ = frozenset({AUTHORIZATION, IDEMPOTENCY_KEY, REQUEST_ID_HEADER})
_AS_IT_IS = frozenset({b"", b"identity"})
_QUIET = frozenset({"GET", "HEAD", "OPTIONS"})
_is_plain = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch
_LOGGED_CHARACTERS = 128

Tags = frozenset[str] | None
"""The tags in If-Match, without quotes. None means any version."""

_tag = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"').fullmatch
_number = re.compile(r"[1-9][0-9]{0,14}").fullmatch


def single_headers(headers: Iterable[Header], names: frozenset[bytes]) -> dict[bytes, bytes]:
    """The headers with these names. Raises Unauthorized or Invalid if one is given twice.

    Otherwise one program might use the first and another the last. Of repeated request ids, the first is used.
    """
    single: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in names:
            if name not in single:
                single[name] = value
            elif name == AUTHORIZATION:
                raise Unauthorized("There is more than one Authorization header")
            elif name != REQUEST_ID_HEADER:
                raise Invalid.at(name.decode(), "is given more than once")
    return single


def raw_key_of(header: bytes | None) -> str:
    """The API key in the Authorization header. Raises Unauthorized; never shows what was sent."""
    if header is None:
        raise Unauthorized("The header Authorization is missing; send Authorization: Bearer svc_…")
    if header[:7].lower() != _SCHEME:
        raise Unauthorized("The Authorization header must be `Bearer <API key>`")
    raw_key = header[7:].decode("latin-1").lstrip(" ")  # RFC 9110 allows several spaces
    if not is_raw_key(raw_key) and not is_token(raw_key):
        raise Unauthorized("The API key does not have the form svc_ and 32 lower-case hex digits")
    return raw_key


class CallHeaders(Struct, frozen=True):
    """The headers of calls, read once for all calls that send the same ones.

    digest: of the raw key, by which its caller is found. request_id: None if the answer gets one of ours.
    """

    raw_key: str
    digest: str
    idempotency_key: bytes | None
    request_id: bytes | None

    def with_value(self, name: bytes, value: bytes) -> "CallHeaders":
        """These headers with another value of this one; one that they do not have is not believed here."""
        if name == REQUEST_ID_HEADER and self.request_id is not None:
            return CallHeaders(self.raw_key, self.digest, self.idempotency_key, value)
        if name == IDEMPOTENCY_KEY and self.idempotency_key is not None:
            return CallHeaders(self.raw_key, self.digest, value, self.request_id)
        return self


class CallHead(Protocol):
    """Headers as a connection has them.

    call_headers: kept with them once read, because clients repeat their headers.
    """

    headers: list[Header]
    call_headers: CallHeaders | None


def read_call_headers(headers: Iterable[Header]) -> CallHeaders:
    """The headers that the hot path reads. Raises Unauthorized or Invalid."""
    single = single_headers(headers, _READ)
    raw_key = raw_key_of(single.get(AUTHORIZATION))
    request_id = single.get(REQUEST_ID_HEADER) or None
    return CallHeaders(raw_key, digest_of(raw_key), single.get(IDEMPOTENCY_KEY), request_id)


def require_as_it_is(headers: Iterable[Header]) -> None:
    """Raise UnsupportedEncoding if a Content-Encoding says that the body must be decoded."""
    for name, value in headers:
        if name == CONTENT_ENCODING and value.lower() not in _AS_IT_IS:
            shown = value[:_LOGGED_CHARACTERS].decode("latin-1")
            message = f"Bodies are not decoded: send this one without `Content-Encoding: {shown}`, as it is"
            raise UnsupportedEncoding(message)


def request_id_of(headers: Iterable[Header]) -> bytes:
    """The caller's id of this request, or a new one."""
    request_id = next((value for name, value in headers if name == REQUEST_ID_HEADER), None)
    return request_id or secrets.token_hex(16).encode()


def _as_logged(request_id: bytes) -> str:
    """The id as a field of a line: if it is not plain, its beginning, quoted, without control characters."""
    if _is_plain(request_id):
        return request_id.decode()
    return repr(request_id[:_LOGGED_CHARACTERS])[1:]


def request_id_header(request_id: bytes) -> Header:
    """The header that returns the request's id."""
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

    outer = REQUEST_ID.set(_as_logged(request_id))
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


def change_reason(request: Request[Any, Any, Any]) -> str:
    """The value of Change-Reason, in UTF-8 as in bodies; "" if it is missing. Raises Invalid."""
    values = [value for name, value in request.scope["headers"] if name == b"change-reason"]
    if not values:
        return ""
    if len(values) > 1:
        raise Invalid.at(CHANGE_REASON_HEADER, "is given twice; give it once")
    try:
        reason = values[0].decode().strip()
    except UnicodeDecodeError:
        raise Invalid.at(CHANGE_REASON_HEADER, "is not UTF-8") from None
    if not 1 <= len(reason) <= MAX_REASON:
        raise Invalid.at(CHANGE_REASON_HEADER, f"must have 1 to {MAX_REASON} characters, not {len(reason)}")
    with refusing_fields(""):
        require_visible(CHANGE_REASON_HEADER, reason)
    return reason


def version_header(version: int | str) -> dict[str, str]:
    """The header that shows the version."""
    return {"ETag": f'"{version}"'}


def provide_if_match(request: Request[Any, Any, Any]) -> Versions:
    """The versions in If-Match, or None for any: it is missing or `*`. Raises Invalid."""
    tags = provide_if_match_tags(request)
    return None if tags is None else frozenset(int(tag) for tag in tags if _number(tag))


def provide_if_match_tags(request: Request[Any, Any, Any]) -> Tags:
    """The tags in If-Match, for versions that are not numbers; None for any. Raises Invalid.

    A tag in another form is allowed but matches nothing (RFC 9110 §13.1.1); neither does a weak one.
    """
    values = [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"if-match"]
    if not values:
        return None
    tags = [tag.strip(" \t") for tag in ",".join(values).split(",")]
    if tags == ["*"]:
        return None
    matches = [_tag(tag) for tag in tags if tag]
    if not matches or None in matches:
        raise Invalid.at("If-Match", 'must be the ETag of an answer, with its quotes, such as "3"; or *')
    return frozenset(match[2] for match in matches if match is not None and match[1] is None)
