"""/access/v1/requests: access that was denied, requested from people, as AuthZEN's profile for it wants."""

from typing import Any

import msgspec
from litestar import Request, Response

from app.approvals.access_requests import Submission
from app.errors import (
    ApprovalDecided,
    ApprovalNotFound,
    DuplicateRequest,
    ExpiredDenial,
    Invalid,
    InvalidDenialBinding,
    InvalidTaskState,
    NotFound,
    NotRequestable,
    OwnApproval,
    TaskExpired,
    UnknownTask,
)
from app.http.authzen.access_requests import (
    AccessRequestBody,
    CancelTask,
    read_access_request,
    requested,
)
from app.http.authzen.denials import denied_approval, require_callback, require_chain, shown_of
from app.http.bodies import decode_json, read_body
from app.http.endpoint import JSON, endpoint
from app.http.headers import IDEMPOTENCY_KEY, single_headers
from app.http.openapi.described_headers import LOCATION, RETRY_AFTER, SUBMISSION_KEY
from app.http.tool_calls import idempotency_of, reading_of
from app.model.access_requests import PATH, TaskStatus, TaskView, approvals_of, requests_endpoint, task_id_of, task_of
from app.model.api_keys import Caller, Scope
from app.model.approvals import Approval, ApprovalStatus
from app.model.text import FieldError, require_visible
from app.replica import Services

_ONE: dict[str, Any] = {"tag": "AuthZEN", "answer": TaskView}
_SEE = (Scope.READ, Scope.VIEW, Scope.APPROVE)
_POLL_SECONDS = "5"


@endpoint(
    "POST",
    PATH,
    **_ONE,
    scopes=(Scope.READ, Scope.AUTHORIZE),
    body=AccessRequestBody,
    status=202,
    errors=(NotFound, NotRequestable, InvalidDenialBinding, ExpiredDenial, DuplicateRequest),
    headers=LOCATION,
    request_headers=(SUBMISSION_KEY,),
)
async def submit_access_request(
    request: Request[Any, Any, Any], caller: Caller, services: Services
) -> Response[TaskView]:
    """Request access that was denied.

    The approval that the denial created shows people why, and the answer is a task that says what they decide: 202, or
    201 if they have decided already. Submitting the same again returns the same task.
    """
    where = _endpoint(services)
    decisions, headers = services.decisions, list(request.scope["headers"])
    key = single_headers(headers, frozenset({IDEMPOTENCY_KEY})).get(IDEMPOTENCY_KEY)
    raw = await read_body(request.receive)
    reading = reading_of(decisions, caller, headers)
    body, plain = read_access_request(raw, reading)
    await require_chain(services, caller, body)
    callback = await require_callback(services, caller, body.callback)
    asked = [(each, *await denied_approval(services, caller, each, reading)) for each in requested(body)]
    together = [approval for _, approval, _ in asked]
    ids = [approval.id for approval in together]
    if len(set(ids)) < len(ids):
        raise Invalid.at("$.items", "contains the same call twice")
    named = None if key is None else idempotency_of(key, plain, decisions.signer)
    approvals = []
    for each, approval, call in asked:
        submission = Submission(
            task_id=task_id_of(ids),
            shown=shown_of(reading, body, each, approval, call),
            callback=callback,
            key="" if named is None else named.key_digest,
            bodies=() if named is None else (named.body_digest, *named.former_digests),
        )
        approvals.append(await services.records.access_requests.submit(caller, approval, submission, together))
    view = task_of(where, approvals)
    status = 202 if view.task.status is TaskStatus.PENDING else 201
    return Response(view, status_code=status, headers={"Location": view.task.status_endpoint})


@endpoint(
    "GET",
    PATH + "/{task_id}",
    **_ONE,
    scopes=(*_SEE, Scope.AUTHORIZE),
    errors=(UnknownTask, TaskExpired),
    headers=RETRY_AFTER,
)
async def get_access_request(task_id: str, caller: Caller, services: Services) -> Response[TaskView]:
    """Read an access request, and once it is approved, its result."""
    view = task_of(_endpoint(services), await _approvals(services, caller, task_id))
    headers = {"Retry-After": _POLL_SECONDS} if view.task.status is TaskStatus.PENDING else {}
    return Response(view, headers=headers)


@endpoint(
    "POST",
    PATH + "/{task_id}/cancel",
    **_ONE,
    scopes=(Scope.READ, Scope.APPROVE, Scope.AUTHORIZE),
    body=CancelTask,
    errors=(UnknownTask, TaskExpired, InvalidTaskState, OwnApproval),
)
async def cancel_access_request(
    task_id: str, request: Request[Any, Any, Any], caller: Caller, services: Services
) -> Response[bytes]:
    """Cancel an access request.

    Only with the key that asked, or one that was rotated from it or into it. Of several items, those that are pending.
    """
    where, why = _endpoint(services), _read_why(await read_body(request.receive))
    approvals = await _approvals(services, caller, task_id)
    cancelled = 0
    for each in approvals:
        if each.status is not ApprovalStatus.PENDING:
            continue
        try:
            await services.records.approvals.decide(
                caller.workspace_id, each.id, ApprovalStatus.CANCELLED, by=caller.actor, note=why.comment or why.reason
            )
        except ApprovalDecided:
            continue
        cancelled += 1
    if not cancelled:
        raise InvalidTaskState("The access request has ended already; nothing was cancelled")
    view = task_of(where, await _approvals(services, caller, task_id))
    return Response(msgspec.json.encode(view), media_type=JSON)


def _endpoint(services: Services) -> str:
    endpoint = requests_endpoint(services.settings.public_url)
    if endpoint is None:
        raise NotFound("Access cannot be requested: REMIT_PUBLIC_URL is not set, and every URL of a task is absolute")
    return endpoint


async def _approvals(services: Services, caller: Caller, task_id: str) -> list[Approval]:
    """The approvals of a task. Raises UnknownTask, also if the caller may not see one of them, and TaskExpired."""
    try:
        found = [await services.records.approvals.get(caller.workspace_id, each) for each in approvals_of(task_id)]
    except ApprovalNotFound:
        found = []
    if not found or not all(caller.has_any(_SEE) or caller.may_ask_for(each.agent_id) for each in found):
        raise UnknownTask("No access request has this id")
    if task_of("", found).task.status is TaskStatus.EXPIRED:
        raise TaskExpired("Nobody decided the access request in time; evaluate again, and submit the new denial")
    return found


def _read_why(raw: bytes) -> CancelTask:
    if not raw.strip():
        return CancelTask()
    try:
        why = msgspec.convert(decode_json(raw), CancelTask)
        require_visible("reason", why.reason)
        require_visible("comment", why.comment, lines=True)
    except msgspec.ValidationError as error:
        raise Invalid.at("$", str(error)) from None
    except FieldError as error:
        raise Invalid.at(f"$.{error.field}", error.message) from None
    return why
