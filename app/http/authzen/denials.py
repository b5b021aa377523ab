"""What an access request must prove: its denial, its actors and its callback."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from app.approvals.access_requests import shown_request
from app.authorize.authorizer import in_its_session
from app.authorize.escalation.request import is_bound
from app.errors import (
    AgentNotFound,
    ApprovalNotFound,
    AuditEntryNotFound,
    InsufficientScope,
    Invalid,
    InvalidDenialBinding,
    NotRequestable,
    PayloadTooLarge,
)
from app.http.authzen.access_requests import AccessRequestBody, Requested, actors_of, object_of
from app.http.authzen.entities import call_of
from app.http.tool_calls import Reading
from app.model.access_requests import Callback
from app.model.agents import agent_named
from app.model.api_keys import Caller
from app.model.approvals import Approval
from app.model.bound_call import ENTITIES, exact_context, without_act
from app.model.decisions import AuthorizeRequest, Result
from app.model.ids import uuid_of
from app.model.webhooks import WebhookEvent
from app.redaction.recording import recorded
from app.replica import Services

_SHOWN_BYTES = 16 * 1024
_NOT_SHOWN = frozenset({*ENTITIES, "agent", "approval"})


class _Entry(Struct, rename="camel"):
    key_id: str
    result: str | None = None
    approval_id: str = ""


_entry = msgspec.json.Decoder(_Entry).decode


async def denied_approval(
    services: Services, caller: Caller, asked: Requested, reading: Reading
) -> tuple[Approval, AuthorizeRequest]:
    """The approval that the denial created or joined, and the call. Raises InvalidDenialBinding, NotRequestable.

    The approval's own digest is the proof: it covers who asked, subject, action, resource and the bound context.
    """
    denial = asked.denial
    if denial.binding_token is not UNSET:
        raise _unbound("no binding_token is ever given out here, and nobody's is trusted")
    evaluation_id = None if denial.evaluation_id is UNSET else uuid_of(denial.evaluation_id)
    if evaluation_id is None:
        raise _unbound("there is no evaluation_id of a denial")
    try:
        call, _ = call_of(asked.question, reading)
        call = replace(call, agent_id=await services.records.agents.id_of(caller.workspace_id, call.agent_id))
    except AgentNotFound:
        raise _unbound("no agent is meant") from None
    approval = await _approval(services, caller, evaluation_id)
    if caller.session_from is not None:
        call = in_its_session(caller, call)
    context = exact_context(call.body) | ({"session": call.session} if call.session else {})
    bound = {name: value for name, value in sorted(context.items()) if name in approval.bound_context}
    signer = services.decisions.signer
    is_proven = any(
        is_bound(approval.parameters_digest, caller, call, each, approval.agent_says, signer)
        for each in (bound, without_act(bound))
    )
    if not is_proven:
        raise _unbound("it was another question, or another key's")
    return approval, call


async def _approval(services: Services, caller: Caller, evaluation_id: str) -> Approval:
    approvals, workspace_id = services.records.approvals, caller.workspace_id
    try:
        return await approvals.get(workspace_id, evaluation_id)
    except ApprovalNotFound:
        pass  # the evaluation may have joined an approval that was there already
    try:
        entry = _entry((await services.log.audit.entry(workspace_id, evaluation_id))[1])
        if entry.result == Result.ESCALATED and entry.approval_id:
            return await approvals.get(workspace_id, entry.approval_id)
    except (AuditEntryNotFound, ApprovalNotFound):
        raise _unbound("no denial has this evaluation_id") from None
    if entry.key_id == caller.key_id:
        raise NotRequestable("The evaluation was not denied with `access_request` in its context")
    raise _unbound("no denial has this evaluation_id")


async def require_chain(services: Services, caller: Caller, body: AccessRequestBody) -> None:
    """Raise InsufficientScope unless the key may ask for every actor that the client claims to act for it."""
    for name, issuer in actors_of(object_of(body.client)):
        called = agent_named(name) if issuer in (None, services.settings.public_url) else None
        try:
            known = called and await services.records.agents.id_of(caller.workspace_id, called)
        except AgentNotFound:
            known = None
        if known is None or not caller.may_ask_for(known):
            raise InsufficientScope("client.actor: the key may ask for agents of this workspace only, by id or alias")


async def require_callback(services: Services, caller: Caller, callback: Callback | UnsetType) -> Callback | None:
    """The callback. Raises Invalid unless it goes to a webhook that an administrator has registered for it."""
    if callback is UNSET:
        return None
    for webhook in await services.records.webhooks.list_all(caller.workspace_id):
        is_meant = webhook.enabled and WebhookEvent.ACCESS_REQUEST_COMPLETED in webhook.events
        if is_meant and webhook.url == callback.endpoint:
            return callback
    raise Invalid.at(
        "$.callback.endpoint", "must be the URL of one of the workspace's webhooks for `access_request.completed`"
    )


def shown_of(
    reading: Reading, body: AccessRequestBody, asked: Requested, approval: Approval, call: AuthorizeRequest
) -> bytes:
    """What people see of the submission, as JSON. Raises PayloadTooLarge."""
    known = _NOT_SHOWN | set(msgspec.json.decode(approval.context))
    context = {name: value for name, value in msgspec.json.decode(call.recorded_context).items() if name not in known}

    def shown(value: dict[str, Any]) -> bytes:
        return recorded(value, reading.redactor, reading.signer, reading.workspace_id, work=reading.work)

    whole = shown_request(msgspec.json.encode(context), shown(asked.requested_access), shown(object_of(body.client)))
    if len(whole) > _SHOWN_BYTES:
        raise PayloadTooLarge(f"What people would be shown has {len(whole)} bytes; at most {_SHOWN_BYTES} are kept")
    return whole


def _unbound(why: str) -> InvalidDenialBinding:
    return InvalidDenialBinding(f"The access request cannot be bound to a denial: {why}")
