"""Access requests, as AuthZEN's access request and approval profile has them: approvals, as the requester sees them.

An approval is the only state there is. A task is a view of one, or of several that were requested together.
"""

import base64
import binascii
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from app.model.approvals import Approval, ApprovalStatus
from app.model.fields import Timestamp, Uuid
from app.model.ids import uuid_of

PATH = "/access/v1/requests"
CAPABILITY = "urn:openid:authzen:capability:access-request"
MAX_ITEMS = 16
_TOGETHER = "t"
"""Begins the id of a task of several approvals, whose ids follow."""
Entity = Annotated[dict[str, Any], Meta(extra_json_schema={"type": "object"})]


class TaskStatus(StrEnum):
    """The status of a task or an item; all but `pending` are final, and `partial` is only of several items."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    PARTIAL = "partial"


class ApprovalResult(Struct, frozen=True):
    """The approval to carry in `context.approval` of the next evaluation.

    id: Its id.
    approved_at: When it was approved.
    approved_until: Until when it can be used.
    """

    id: Uuid
    approved_at: Timestamp
    approved_until: Timestamp


class TaskResult(Struct, frozen=True):
    """How to complete an approved request: evaluate again.

    mode: Always `reevaluate`: the decision point decides again.
    approval: What to carry in the context.
    """

    mode: Literal["reevaluate"]
    approval: ApprovalResult


class TaskItem(Struct, frozen=True, kw_only=True):
    """One of several requests, in the order in which they were submitted.

    resource: The resource that was asked about, as in the log.
    action: The action that was asked about, as in the log.
    status: Its own status.
    result: How to complete it, if it is approved.
    """

    resource: Entity
    action: Entity
    status: TaskStatus
    result: TaskResult | UnsetType = UNSET


class TaskProgress(Struct, frozen=True):
    """How many people have approved.

    current_step: The number of the person who is awaited, from 1.
    total_steps: How many people must approve.
    """

    current_step: int
    total_steps: int


class TaskLinks(Struct, frozen=True):
    """Related URLs.

    cancel: Where to cancel the request, by POST.
    """

    cancel: str


class Task(Struct, frozen=True, kw_only=True):
    """An access request.

    id: Opaque.
    status: `pending`, or how it ended: `approved`, `denied`, `expired`, `cancelled`, or `partial` if items differ.
    status_endpoint: Where to read it.
    progress: How many people have approved, if more than one must.
    expires_at: When it expires if it is still pending then.
    links: What can be done with it while it is pending.
    items: Each of several requests.
    """

    id: str
    status: TaskStatus
    status_endpoint: str
    progress: TaskProgress | UnsetType = UNSET
    expires_at: Timestamp | UnsetType = UNSET
    links: TaskLinks | UnsetType = UNSET
    items: list[TaskItem] | UnsetType = UNSET


class TaskView(Struct, frozen=True):
    """An access request, and its result.

    task: The access request.
    result: How to complete it, if it is approved and has no items.
    """

    task: Task
    result: TaskResult | UnsetType = UNSET


class Callback(Struct, frozen=True, kw_only=True):
    """Who is told how a request ended.

    endpoint: The URL of one of the workspace's webhooks for `access_request.completed`.
    state: Returned in the callback, as it is.
    events: The status values that are told: `approved`, `denied`, `expired`, `cancelled`, `partial`; all if left out.
    """

    endpoint: Annotated[str, Meta(max_length=2048)]
    state: Annotated[Raw, Meta(extra_json_schema={})] | UnsetType = UNSET
    events: Annotated[list[str], Meta(max_length=6)] | UnsetType = UNSET


class StoredCallback(Struct, frozen=True):
    """A callback as its approval keeps it. task: the id of the whole task."""

    task: str
    callback: Callback


class _Asked(Struct):
    """The entities in the context of a call that AuthZEN asked about."""

    resource: dict[str, Any] = {}
    action: dict[str, Any] = {}


_asked = msgspec.json.Decoder(_Asked).decode
_properties = msgspec.json.Decoder(dict[str, Any]).decode


def requests_endpoint(public_url: str | None) -> str | None:
    """The URL where access is requested; None if the service does not know its own URL."""
    return None if public_url is None else public_url.rstrip("/") + PATH


def task_id_of(approval_ids: Sequence[str]) -> str:
    """The id of the task of these approvals."""
    if len(approval_ids) == 1:
        return approval_ids[0]
    return _TOGETHER + base64.urlsafe_b64encode(b"".join(UUID(each).bytes for each in approval_ids)).decode().strip("=")


def approvals_of(task_id: str) -> list[str]:
    """The ids of the approvals of a task, in order; empty if no task has this id."""
    if (single := uuid_of(task_id)) is not None:
        return [single]
    if not task_id.startswith(_TOGETHER):
        return []
    try:
        packed = base64.urlsafe_b64decode(task_id[1:] + "=" * (-len(task_id[1:]) % 4))
    except (binascii.Error, ValueError):
        return []
    ids = [str(UUID(bytes=packed[start : start + 16])) for start in range(0, len(packed) - 15, 16)]
    return ids if len(ids) <= MAX_ITEMS and ids and task_id_of(ids) == task_id else []


def status_of(approval: Approval) -> TaskStatus:
    """What became of the request. What becomes of an approval once it was given does not change this."""
    if approval.usable_until is not None:
        return TaskStatus.APPROVED
    return TaskStatus(approval.status)


def task_of(endpoint: str, approvals: Sequence[Approval]) -> TaskView:
    """The task of these approvals."""
    task_id = task_id_of([each.id for each in approvals])
    statuses = [status_of(each) for each in approvals]
    is_pending, is_single = TaskStatus.PENDING in statuses, len(approvals) == 1
    url, first = f"{endpoint}/{task_id}", approvals[0]
    task = Task(
        id=task_id,
        status=_together(statuses),
        status_endpoint=url,
        progress=_progress(first) if is_single and is_pending and first.required > 1 else UNSET,
        expires_at=max(each.expires_at for each in approvals) if is_pending else UNSET,
        links=TaskLinks(f"{url}/cancel") if is_pending else UNSET,
        items=UNSET if is_single else [_item(each) for each in approvals],
    )
    return TaskView(task, _result(first) if is_single else UNSET)


def _together(statuses: Sequence[TaskStatus]) -> TaskStatus:
    if TaskStatus.PENDING in statuses:
        return TaskStatus.PENDING
    return statuses[0] if len(set(statuses)) == 1 else TaskStatus.PARTIAL


def _item(approval: Approval) -> TaskItem:
    asked, properties = _asked(approval.context), _properties(approval.parameters)
    if asked.resource.get("type") != "tool":
        properties.pop("id", None)
    resource = {**asked.resource, "properties": properties} if properties else asked.resource
    return TaskItem(resource=resource, action=asked.action, status=status_of(approval), result=_result(approval))


def _progress(approval: Approval) -> TaskProgress:
    given = sum(each.verdict is ApprovalStatus.APPROVED for each in approval.approvals)
    return TaskProgress(given + 1, approval.required)


def _result(approval: Approval) -> TaskResult | UnsetType:
    if approval.usable_until is None:
        return UNSET
    approved_at = max(each.at for each in approval.approvals if each.verdict is ApprovalStatus.APPROVED)
    return TaskResult("reevaluate", ApprovalResult(approval.id, approved_at, approval.usable_until))
