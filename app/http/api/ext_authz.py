"""/access/v1/ext-authz/…: the requests of a gateway's clients, as Envoy's ext_authz and nginx's auth_request ask.

The gateway forwards a request's method, path and headers, and obeys the status: 200, or anything else. A path, query
or header that its backend could read in another way than a policy does is refused.
"""

import re
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from app.errors import (
    AgentNotFound,
    AppError,
    CallRefused,
    Invalid,
    LockedOut,
    StoreUnavailable,
    TooManyRequests,
    Unauthorized,
)
from app.http.answers import Header, RawResponse
from app.http.endpoint import Endpoint
from app.http.headers import AUTHORIZATION, REQUEST_ID_HEADER
from app.http.hot_path import Door
from app.http.openapi.described_headers import EXT_AUTHZ_ANSWER, GATEWAY_AGENT
from app.http.problems import headers_of, message_answer
from app.http.tool_calls import Reading, tool_call
from app.http.views.evaluations import EvaluationView, encode_evaluation
from app.language.ambiguous import Ambiguous
from app.language.paths import canonical_path
from app.language.queries import query_parameters
from app.language.visible import first_hidden
from app.model.api_keys import Scope, without_raw_keys
from app.model.decisions import AuthorizeRequest, Decision, Result
from app.settings import Settings

PATH = "/access/v1/ext-authz"
_TOOL = "http"
_AGENT = b"x-remit-agent"
_is_method = re.compile(rb"[A-Z][A-Z-]{0,31}").fullmatch
_broken_escape = re.compile(rb"%(?![0-9A-Fa-f]{2})").search
_hides_separator = re.compile(rb"%2f|%5c|%3b|;", re.IGNORECASE).search
_PASSED_ON = (Unauthorized, LockedOut, TooManyRequests)
"""Refusals of the key: a gateway may pass their statuses on to its client."""
_OVERRIDES = frozenset({"x-http-method-override", "x-http-method", "x-method-override"})
_OVERRIDING = _OVERRIDES | {"_method", "$httpmethod"}
"""Names of parameters, in small letters."""
_as_cgi = re.compile(r"[^a-z0-9]").sub
_encode = msgspec.json.Encoder().encode


def _read(method: bytes, target: bytes, raw: bytes, reading: Reading) -> AuthorizeRequest:  # noqa: ARG001 - a body is not judged
    """The request as a tool call. Raises Invalid, PayloadTooLarge."""
    if not _is_method(method):
        raise Invalid.at("method", "must be upper-case letters: programs disagree about any other")
    settings = reading.settings
    raw_path, _, query = target.partition(b"?")
    parameters: dict[str, Any] = {"path": _path(raw_path)}
    if query:
        parameters["query"] = _query(query)
    if headers := _headers(settings, reading):
        parameters["headers"] = headers
    verb = method.decode()
    body = b'{"parameters":%b}' % _encode(parameters)
    return tool_call(
        body,
        len(body),
        reading,
        agent_id=_agent(reading),
        tool_name=f"{_TOOL}.{verb.lower()}",
        action=verb,
        parameters=parameters,
        context=None,
    )


def _path(raw: bytes) -> str:
    """The path, decoded once, without a slash at its end. Raises Invalid if it has another spelling or meaning."""
    if _hides_separator(raw):
        raise Invalid.at(
            "path", "contains `;` or an encoded slash, backslash or semicolon, which some programs split at"
        )
    text = _decoded("path", raw)
    try:
        path = canonical_path(text)
    except Ambiguous as error:
        raise Invalid.at("path", str(error)) from None
    if path != (text.removesuffix("/") or "/"):
        raise Invalid.at("path", "has an empty or a dot segment, which some programs resolve and others do not")
    return path


def _query(raw: bytes) -> dict[str, Any]:
    """The query's values by name, written and read (`query_parameters`). Raises Invalid."""
    if b";" in raw:
        raise Invalid.at("query", "contains `;`, at which some programs split; encode it as %3B")
    parts = [part.partition(b"=") for part in raw.replace(b"+", b" ").split(b"&") if part]
    try:
        values = query_parameters((_decoded("query", name), _decoded("query", value)) for name, _, value in parts)
    except Ambiguous as error:
        raise Invalid.at("query", str(error)) from None
    for name in values:
        if name.casefold() in _OVERRIDING:
            raise Invalid.at("query", f"has {name}, which names another method that some programs run")
    return values


def _decoded(where: str, raw: bytes) -> str:
    """The text, percent-decoded once. Raises Invalid."""
    if _broken_escape(raw):
        raise Invalid.at(where, "contains a percent sign without two hexadecimal digits")
    try:
        text = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise Invalid.at(where, "is not UTF-8 when it is decoded") from None
    if (hidden := first_hidden(text)) is not None:
        raise Invalid.at(where, f"contains the invisible character U+{ord(hidden):04X}")
    return text


def _headers(settings: Settings, reading: Reading) -> dict[str, str]:
    """The headers that policies can read, by name in lower case. Raises Invalid if a backend could read others."""
    values: dict[str, str] = {}
    read = {_as_cgi("_", each): each for each in (*settings.ext_authz_header_names, *_OVERRIDES)}
    for name, value in reading.headers:
        called = name.decode("latin-1")
        plain = read.get(_as_cgi("_", called), called)
        if plain != called:
            raise Invalid.at(called, f"is {plain} in another spelling, which some programs read as that header")
        if called in _OVERRIDES:
            raise Invalid.at(called, "names another method, which some programs run")
        if called in settings.ext_authz_header_names:
            if called in values:
                raise Invalid.at(called, "is given more than once; some programs read the first, others the last")
            values[called] = value.decode("latin-1")
    return values


def _agent(reading: Reading) -> str:
    """The agent that a header names, or else the only one that the key is bound to. Raises Invalid."""
    named = [value for name, value in reading.headers if name == _AGENT]
    if len(named) == 1:
        return named[0].decode("latin-1")
    if not named and reading.agents is not None and len(reading.agents) == 1:
        return next(iter(reading.agents))
    raise Invalid.at("X-Remit-Agent", f"is given {len(named)} times; exactly one must name the agent")


def _answer(decision: Decision) -> bytes:
    if decision.outcome.result is Result.ALLOWED:
        return encode_evaluation(decision)
    return _encode(decision.outcome.reason)


def _head(decision: Decision) -> tuple[int, list[Header]]:
    """Status and headers. Gateways drop the body, so the headers say what it says."""
    outcome = decision.outcome
    headers = [
        (b"remit-decision", decision.id.encode()),
        (b"remit-result", outcome.result.encode()),
        (b"remit-code", outcome.code.encode()),
    ]
    if outcome.result is Result.ALLOWED:
        return 200, headers
    headers.append((b"remit-reason", _as_header(decision.agent_message or outcome.reason)))
    if decision.approval is not None:
        headers.append((b"remit-approval", decision.approval.id.encode()))
    if decision.retry_after_us is not None:
        headers.append((b"retry-after", b"%d" % -(-decision.retry_after_us // 1_000_000)))
    return 403, headers


def _refuse(error: AppError) -> RawResponse:
    """The answer if nothing was decided: 401 or 429 if the key is refused, 403 for a bad question, 503 for a fault."""
    status, _, body = message_answer(error)
    if not isinstance(error, _PASSED_ON):
        status = StoreUnavailable.status if status >= AppError.status else CallRefused.status
    code = b"unknown_subject" if isinstance(error, AgentNotFound) else error.code.lower().encode()
    reason = _as_header(without_raw_keys(error.message))
    own = [(b"remit-code", code), (b"remit-reason", reason), (b"content-type", b"application/json")]
    return RawResponse(status, [*headers_of(error), *own], body)


def _as_header(text: str) -> bytes:
    """The text as the value of a header: whatever is not plain ASCII is a question mark."""
    return re.sub(rb"[^ -~]", b"?", text.encode("ascii", "replace"))[:1024]


EXT_AUTHZ = Endpoint(
    method="POST",
    path=PATH + "/{path}",
    tag="AuthZEN",
    scopes=(Scope.READ, Scope.AUTHORIZE),
    summary="Ask whether a gateway may let a request pass",
    description=(
        "For gateways. Any method is served, not only POST, and it is part of the question: the request itself, whose "
        "path follows `/access/v1/ext-authz`, of any depth, with its query. "
        "200 if it is allowed, 403 if it is not, or cannot be judged; everything else means that there is no decision, "
        "and the request must not pass. A body is not judged."
    ),
    answer=EvaluationView,
    errors=(CallRefused,),
    headers=EXT_AUTHZ_ANSWER,
    request_headers=(GATEWAY_AGENT,),
)
BELIEVED = frozenset({AUTHORIZATION, REQUEST_ID_HEADER})
"""What the gateway says for itself, besides the agent. Its client's Idempotency-Key would let many requests pass with
one answer.
"""
GATEWAY = Door(
    EXT_AUTHZ,
    partial(_read, b"GET", b"/"),
    _answer,
    _refuse,
    head=_head,
    read_at=lambda method, rest: partial(_read, method, b"/" + rest),
    believed=BELIEVED,
)
