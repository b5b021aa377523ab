"""/v1/authorize: the HTTP side of the hot path.

A plain ASGI handler that the application calls before its router: typed handlers and routing cost as much again as the
decision. Errors, methods and the entry in the OpenAPI document are the same as everywhere.
"""

from collections.abc import Callable
from typing import Protocol, cast
from urllib.parse import parse_qsl

from litestar import asgi
from litestar.types import HTTPScope, Receive, Scope, Send

from app.errors import (
    AgentNotFound,
    AppError,
    InsufficientScope,
    Invalid,
    Overloaded,
    PayloadTooLarge,
    Unauthorized,
)
from app.fairness.shares import LARGE_BYTES
from app.http.answers import JSON, Answer, Header, send_answer
from app.http.api.authorize_body import decode_tool_call
from app.http.authentication import note_failure, peer_of, require_asking, require_asking_for
from app.http.bodies import ANY_LENGTH, read_body
from app.http.call_headers import CallHead, CallHeaders, call_headers_of
from app.http.methods import not_allowed
from app.http.problems import error_answer, unexpected
from app.http.request_ids import request_id_header, request_id_of
from app.http.throttle import check_rate, has_bounds
from app.lanes.lane import monotonic_us
from app.model.api_keys import Caller
from app.model.decisions import AuthorizeRequest
from app.redaction.recording import QUICK_BYTES, takes_long
from app.replica import Services
from app.validation_messages import visible
from app.views.decisions import encode_decision

PATH = "/v1/authorize"
IN_THE_LOOP_BYTES = 16 * 1024
"""The largest body read in one step of the loop, in bytes."""

_AT_ONCE_BYTES = 256
"""Reading a smaller body takes no time that others would notice, whatever is in it."""

Translation = Callable[[bytes, list[Header], int], bytes]
"""Makes a body of /v1/authorize from another body and its headers, within this many bytes."""


class Call(Protocol):
    """A POST as the connection has it: the headers have arrived, the body may still be on its way."""

    headers: list[Header]
    arrived_us: int
    """When it arrived, by our monotonic clock, if another process of this replica has noted it; otherwise 0."""

    @property
    def head(self) -> CallHead:
        """The headers as the connection keeps them."""

    @property
    def peer(self) -> str | None:
        """The address at the other end of the connection."""

    @property
    def most(self) -> int:
        """The largest size that the body can have, in bytes."""

    async def body(self, max_bytes: int) -> bytes:
        """The body, if it has at most this many bytes. Raises PayloadTooLarge, or Invalid if it breaks off."""


async def respond(services: Services, call: Call, question: Translation | None = None) -> Answer:
    """Admit, authenticate, decode, authorize, encode. A decision is in the audit stream when it is returned.

    question: makes the body of /v1/authorize from another one. Raises TakesLong if the slow lane must answer it.
    """
    moved_us = call.arrived_us
    arrived_us = call.arrived_us = moved_us or monotonic_us()
    admitted: list[Header] = []
    try:
        if has_bounds(services):
            admitted = check_rate(services, call.peer, call.headers, has_moved=moved_us > 0)
        given = call_headers_of(call.head)
        raw_key = given.raw_key
        caller = services.authenticator.recall(given.digest) or await services.authenticator.authenticate_once(raw_key)
        counted = 0
        try:
            if not caller.asks_for_all:
                require_asking(caller)
            counted = _enter_large(services, caller, call) if call.most > LARGE_BYTES else 0
            max_bytes = services.settings.call_bytes_max
            raw = await call.body(max_bytes)
            request = (
                decode_tool_call(raw, given.idempotency_key, services.redactor, services.signer, max_bytes)
                if question is None and len(raw) <= _AT_ONCE_BYTES
                else await _decode(services, caller.workspace_id, raw, call.headers, given, question)
            )
            if not caller.asks_for_all:
                require_asking_for(caller, request.agent_id)
            decision = await services.authorizer.authorize(caller, request, arrived_us)
        except (Invalid, PayloadTooLarge, AgentNotFound, InsufficientScope):
            # No commit has confirmed the key, so the store is asked before the caller learns anything.
            await services.authenticator.authenticate(raw_key, promptly=True)
            raise
        except Unauthorized:
            services.authenticator.forget(raw_key)
            raise
        finally:
            if counted:
                services.large_calls.leave(caller.workspace_id, counted)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets a refusal and not a closed connection
        problem = error if isinstance(error, AppError) else unexpected(error)
        note_failure(services, call.peer, call.headers, problem)
        services.metrics.refused(problem.code)
        services.metrics.ready(monotonic_us() - arrived_us)
        return error_answer(problem, request_id_header(request_id_of(call.headers)), *admitted)
    headers = [JSON, request_id_header(given.request_id or decision.id.encode()), *admitted]
    if decision.repeated:
        headers.append((b"idempotency-replayed", b"true"))
    else:
        services.metrics.decided(decision.outcome.result, decision.latency_us)
    body = encode_decision(decision)
    waited_us = monotonic_us() - arrived_us
    services.metrics.ready(waited_us)
    if services.note_decision is not None:
        services.note_decision(caller.workspace_id, request, decision, waited_us)
    return Answer(200, headers, body)


def _enter_large(services: Services, caller: Caller, call: Call) -> int:
    """Count the call as a large one; return the bytes counted. Raises Overloaded if there is no room for it."""
    counted = min(call.most, services.settings.call_bytes_max)
    if not services.large_calls.enter(caller.workspace_id, counted):
        raise Overloaded("This replica has too many large calls of this workspace at once; nothing was decided")
    return counted


async def _decode(
    services: Services,
    workspace_id: str,
    raw: bytes,
    headers: list[Header],
    given: CallHeaders,
    question: Translation | None,
) -> AuthorizeRequest:
    """The call in a body that may take milliseconds to read: in the workspace's share of the loop, or in a thread.

    Raises TakesLong if the slow lane must answer.
    """

    def decode() -> AuthorizeRequest:
        max_bytes = services.settings.call_bytes_max
        body = raw if question is None else question(raw, headers, max_bytes)
        return decode_tool_call(body, given.idempotency_key, services.redactor, services.signer, max_bytes)

    size = len(raw)
    if size <= QUICK_BYTES or (size <= IN_THE_LOOP_BYTES and not takes_long(raw, services.redactor)):
        return services.loop_budget.run(workspace_id, monotonic_us(), decode)
    return await services.call_pool.run(workspace_id, decode)


@asgi(PATH, copy_scope=False)
async def authorize(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one tool call. The answer is already in the audit stream when it is sent."""
    await answer(scope["litestar_app"].state.services, cast("HTTPScope", scope), receive, send)


async def answer(services: Services, scope: HTTPScope, receive: Receive, send: Send) -> None:
    """The same as `authorize`, for callers that have the services: every POST comes this way, past the router."""
    if scope["method"] == "OPTIONS":
        await send_answer(send, Answer(204, [(b"allow", _ALLOW.encode())]))
    elif scope["method"] == "POST":
        question = _refuse_query(scope["query_string"]) if scope["query_string"] else None
        await send_answer(send, await respond(services, AsgiCall(scope, receive), question))
    else:
        problem = not_allowed(scope["method"], _ALLOW)
        services.metrics.refused(problem.code)
        await send_answer(send, error_answer(problem))


def _refuse_query(query: bytes) -> Translation:
    """Raise Invalid if there is a query: a request for a dry run must not get a decision."""

    def refuse(raw: bytes, _headers: list[Header], _max_bytes: int) -> bytes:
        for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            message = "is no query parameter, there are none here; POST /v1/explain says what would be answered"
            raise Invalid.at(visible(name), message)
        return raw

    return refuse


class AsgiCall:
    """A call handed over by an ASGI server."""

    arrived_us = 0

    def __init__(self, scope: HTTPScope, receive: Receive) -> None:
        self.headers: list[Header] = list(scope["headers"])
        self.call_headers: CallHeaders | None = None
        self.peer = peer_of(scope)
        self._receive = receive

    @property
    def head(self) -> CallHead:
        return self

    @property
    def most(self) -> int:
        announced = next((value for name, value in self.headers if name == b"content-length"), b"")
        return int(announced) if announced.isdigit() else ANY_LENGTH

    async def body(self, max_bytes: int) -> bytes:
        return await read_body(self._receive, max_bytes)


_ALLOW = "OPTIONS, POST"
