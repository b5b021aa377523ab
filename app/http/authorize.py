"""/v1/authorize: the hot path's way in and out.

A plain ASGI handler that the application calls before its router: typed handlers and routing cost as much again
as the decision. Errors, methods and the entry in the OpenAPI document are the same as everywhere.
"""

from typing import Any, ClassVar, cast

import msgspec
from litestar import asgi
from litestar.types import HTTPScope, Receive, Scope, Send
from msgspec import UNSET, Struct, UnsetType

from app.errors import AgentNotFound, AppError, Invalid, PayloadTooLarge
from app.http.authentication import raw_key_of
from app.http.bodies import (
    count_keys,
    decode_json,
    not_json,
    read_body,
    require_readable,
    require_unique_keys,
    two_spellings,
)
from app.http.explanations import explain
from app.http.methods import not_allowed
from app.http.problems import encode_error, unexpected
from app.model.decisions import AuthorizeRequest, Decision, Result, RuleRef
from app.model.ids import canonical_uuid
from app.model.text import FieldError, Name, require_visible
from app.model.times import rfc3339
from app.pdp import Redactor
from app.services import Services
from app.store.clock import monotonic_us

PATH = "/v1/authorize"
MAX_PARAMETERS_BYTES = 64 * 1024
DEFAULT_ACTION = "authorize"


class AuthorizeBody(Struct, frozen=True, kw_only=True):
    """One tool call to judge. Unknown fields are ignored, so that a PEP can send what it has.

    The two spellings of a field are both fields here, because this body is decoded in one step.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id", "toolName": "tool_name"}
    required: ClassVar[tuple[str, ...]] = ("agent_id", "tool_name")

    agent_id: str | UnsetType = UNSET
    agentId: str | UnsetType = UNSET  # noqa: N815 - the other spelling
    tool_name: Name | UnsetType = UNSET
    toolName: Name | UnsetType = UNSET  # noqa: N815 - the other spelling
    action: Name | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET


class DecisionView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer, in the words of the audit entry whose id it carries; only `allowed` permits the call."""

    id: str
    allowed: bool
    result: Result
    policy_id: str | None
    rule: RuleRef | None
    reason: str
    retry_after_seconds: float | None
    latency_ms: float
    timestamp: str

    @classmethod
    def of(cls, decision: Decision) -> "DecisionView":
        outcome = decision.outcome
        # Rounded up, so that who waits as long as it says is not refused again.
        retry_ms = None if decision.retry_after_us is None else -(-decision.retry_after_us // 1000)
        return cls(
            id=decision.id,
            allowed=outcome.result is Result.ALLOWED,
            result=outcome.result,
            policy_id=outcome.policy_id,
            rule=outcome.rule,
            reason=outcome.reason,
            retry_after_seconds=None if retry_ms is None else retry_ms / 1000,
            latency_ms=decision.latency_us / 1000,
            timestamp=rfc3339(decision.time_us // 1000),
        )


@asgi(PATH, copy_scope=False)
async def authorize(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one tool call. The answer is already in the audit stream when it is sent."""
    await answer(scope["litestar_app"].state.services, cast("HTTPScope", scope), receive, send)


async def answer(services: Services, scope: HTTPScope, receive: Receive, send: Send) -> None:
    """Authenticate, decode, authorize, encode: what `authorize` does, for who has the services at hand."""
    arrived_us = monotonic_us()
    if scope["method"] == "OPTIONS":
        return await _send(send, 204, [(b"allow", _ALLOW.encode())], b"")
    try:
        _require_post(scope["method"])
        raw_key = raw_key_of(scope["headers"])
        caller = services.callers.recall(raw_key) or await services.callers.check(raw_key)
        try:
            request = decode_request(await read_body(receive), services.redactor)
            decision = await services.authorizer.authorize(caller, request, arrived_us)
        except (Invalid, PayloadTooLarge, AgentNotFound):
            # No commit has vouched for the key, so the store is asked before the caller learns anything.
            await services.callers.check(raw_key)
            raise
        status, body, headers = 200, _encode(DecisionView.of(decision)), _JSON
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets a refusal and not a closed connection
        problem = error if isinstance(error, AppError) else unexpected(error)
        status, body = problem.status, encode_error(problem)
        headers = [*_JSON, *((k.lower().encode(), v.encode()) for k, v in problem.headers.items())]
    return await _send(send, status, [*headers, (b"content-length", b"%d" % len(body))], body)


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


_ALLOW = "OPTIONS, POST"
_JSON = [(b"content-type", b"application/json")]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AuthorizeBody).decode


def decode_request(raw: bytes, redactor: Redactor) -> AuthorizeRequest:
    """The tool call that `raw` holds, with its parameters as the log may keep them. Raises Invalid."""
    require_readable(raw)
    try:
        body = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _refused(raw, error) from None
    parameters = {} if body.parameters is UNSET else body.parameters
    require_unique_keys(raw, _fields_given(body) + count_keys(parameters))

    agent_id = _one_of(body.agent_id, body.agentId, "agent_id", "agentId")
    tool_name = _one_of(body.tool_name, body.toolName, "tool_name", "toolName")
    action = DEFAULT_ACTION if body.action is UNSET else body.action
    try:
        require_visible("tool_name", tool_name)
        require_visible("action", action)
    except FieldError as error:
        raise Invalid.at(f"$.{error.field}", error.message) from None
    canonical = canonical_uuid(agent_id)
    if canonical is None:
        raise Invalid.at("$.agent_id", "must be a UUID")

    recorded = _encode(redactor.redacted(parameters))
    if len(recorded) > MAX_PARAMETERS_BYTES:
        raise Invalid.at("$.parameters", f"have {len(recorded)} bytes as JSON; at most {MAX_PARAMETERS_BYTES} are kept")
    return AuthorizeRequest(canonical, tool_name, action, parameters, recorded)


def _fields_given(body: AuthorizeBody) -> int:
    # Written out, because a loop over the struct costs more than decoding it did.
    return (
        (body.agent_id is not UNSET)
        + (body.agentId is not UNSET)
        + (body.tool_name is not UNSET)
        + (body.toolName is not UNSET)
        + (body.action is not UNSET)
        + (body.parameters is not UNSET)
    )


def _one_of(snake: str | UnsetType, camel: str | UnsetType, name: str, alias: str) -> str:
    if snake is UNSET:
        if camel is UNSET:
            raise Invalid.at(f"$.{name}", f"is missing; {alias} will do as well")
        return camel
    if camel is not UNSET and camel != snake:
        raise two_spellings(name, alias)
    return snake


def _require_post(method: str) -> None:
    if method != "POST":
        raise not_allowed(method, _ALLOW)


def _refused(raw: bytes, error: Exception) -> Invalid:
    """Why `raw` was not decoded; slow, since it is read again for that."""
    value = decode_json(raw)
    if not isinstance(error, msgspec.ValidationError):
        return not_json(error)
    detail = explain(error, AuthorizeBody, value)
    return Invalid.at(detail.path, detail.message)
