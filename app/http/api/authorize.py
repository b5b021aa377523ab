"""POST /v1/authorize: one tool call to judge, decoded in one step."""

from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.errors import (
    AgentNotFound,
    ApprovalMismatch,
    IdempotencyConflict,
    IdempotencyStale,
    Invalid,
    TooManyMismatches,
)
from app.http.bodies import count_keys, require_readable, require_unique_keys, two_spellings
from app.http.endpoint import Endpoint
from app.http.hot_path import Door
from app.http.openapi.described_headers import IDEMPOTENCY_KEY, REPLAYED
from app.http.own_fields import own_fields
from app.http.problems import error_answer
from app.http.tool_calls import MAX_NAMES, Reading, not_a_call, tool_call
from app.http.views.decisions import DecisionView, encode_decision
from app.model.agents import AgentRef
from app.model.api_keys import Scope
from app.model.decisions import DEFAULT_ACTION, AuthorizeRequest
from app.model.fields import Uuid
from app.model.ids import uuid_of
from app.model.text import Name, ToolName


class AuthorizeBody(Struct, frozen=True, kw_only=True):
    """One tool call to judge. Unknown fields are ignored, so a PEP can send what it has.

    A field that differs from one of these only in letter case is refused.

    tool_name: The tool that the agent wants to call.
    action: The attempted action, for the log; `authorize` if left out.
    parameters: The call's parameters, up to 32 levels deep. Their size is limited only by the body's, 1040 KiB unless
    configured otherwise; the entry keeps up to 64 KiB, and only the beginning of strings beyond 2 KiB.
    context: What the caller vouches for and the agent cannot choose, such as the user it acts for; up to 16 KiB and 8
    levels deep, besides a `request` of up to 32 KiB: what the user asked for, of which the log keeps only a MAC,
    unless a policy has `keepsRequests`.
    approval_id: The approval that an earlier answer to this call named. If the call still needs approval, only this one
    can let it through, and no new one is requested: 409 `APPROVAL_MISMATCH` if it is not this call's or no longer open.
    """

    # Both spellings are fields, because this body is decoded in one step.
    aliases: ClassVar[dict[str, str]] = {
        "agentId": "agent_id",
        "toolName": "tool_name",
        "approvalId": "approval_id",
    }
    required_fields: ClassVar[tuple[str, ...]] = ("agent_id", "tool_name")

    agent_id: AgentRef | UnsetType = UNSET
    agentId: str | UnsetType = UNSET  # noqa: N815 - the other spelling
    tool_name: ToolName | UnsetType = UNSET
    toolName: ToolName | UnsetType = UNSET  # noqa: N815 - the other spelling
    action: Name | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET
    approval_id: Uuid | UnsetType = UNSET
    approvalId: Uuid | UnsetType = UNSET  # noqa: N815 - the other spelling


_decode = msgspec.json.Decoder(AuthorizeBody).decode
_FIELDS = own_fields(*AuthorizeBody.__struct_fields__)


def read_call(raw: bytes, reading: Reading) -> AuthorizeRequest:
    """The tool call in `raw`, with the parts that the log may keep. Raises Invalid or PayloadTooLarge."""
    require_readable(raw, reading.settings.call_bytes_max, max_names=MAX_NAMES)
    try:
        body = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(raw, error, AuthorizeBody, reading.settings.call_bytes_max) from None
    parameters = {} if body.parameters is UNSET else body.parameters
    context = None if body.context is UNSET or not body.context else body.context
    require_unique_keys(
        raw,
        _fields_given(body) + count_keys(parameters) + (0 if context is None else count_keys(context)),
        _FIELDS,
    )
    agent_id = _one_of(body.agent_id, body.agentId, "agent_id", "agentId")
    tool_name = _one_of(body.tool_name, body.toolName, "tool_name", "toolName")
    action = DEFAULT_ACTION if body.action is UNSET else body.action
    approval_id = "" if body.approval_id is UNSET and body.approvalId is UNSET else _approval_named(body)
    return tool_call(
        raw,
        len(raw),
        reading,
        agent_id=agent_id,
        tool_name=tool_name,
        action=action,
        parameters=parameters,
        context=context,
        approval_id=approval_id,
    )


def _fields_given(body: AuthorizeBody) -> int:
    # Written out, because a loop over the struct would cost more than decoding it does.
    given = [
        body.agent_id,
        body.agentId,
        body.tool_name,
        body.toolName,
        body.action,
        body.parameters,
        body.context,
        body.approval_id,
        body.approvalId,
    ]
    return len(given) - given.count(UNSET)


def _one_of(snake: str | UnsetType, camel: str | UnsetType, name: str, alias: str) -> str:
    if snake is UNSET:
        if camel is UNSET:
            raise Invalid.at(f"$.{name}", f"is missing; {alias} is accepted, too")
        return camel
    if camel is not UNSET and camel != snake:
        raise two_spellings(name, alias)
    return snake


def _approval_named(body: AuthorizeBody) -> str:
    named = _one_of(body.approval_id, body.approvalId, "approval_id", "approvalId")
    approval_id = uuid_of(named)
    if approval_id is None:
        raise Invalid.at("$.approval_id", "must be an approval's id, a UUID")
    return approval_id


AUTHORIZE = Door(
    Endpoint(
        method="POST",
        path="/v1/authorize",
        tag="Decisions",
        scopes=(Scope.READ, Scope.AUTHORIZE),
        summary="Ask whether an agent may call a tool",
        description=(
            "The answer is 200 whether the call is allowed, denied or escalated, and its entry is in the audit log "
            "before it is sent. Only `allowed` permits the call. An agent that is suspended or revoked is denied "
            "everything. 503 means that there is no decision: the call must not be made."
        ),
        body=AuthorizeBody,
        answer=DecisionView,
        errors=(AgentNotFound, ApprovalMismatch, IdempotencyConflict, IdempotencyStale, TooManyMismatches),
        headers=REPLAYED,
        request_headers=(IDEMPOTENCY_KEY,),
    ),
    read_call,
    encode_decision,
    error_answer,
)
