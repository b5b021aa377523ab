"""Events: how entries of the log, changes of the trail and notices appear to receivers."""

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from app.model.access_requests import Callback, Task, TaskStatus
from app.model.agents import AgentStatus
from app.model.approvals import Approval
from app.model.changes import Change, ChangeKind, ResourceType
from app.model.decisions import Result
from app.model.policies import Owner
from app.model.policy_reviews import ReviewedPolicy
from app.model.rules import DenialCounted, usual_code
from app.model.sequences import covers
from app.model.times import rfc3339
from app.model.webhooks import EventFilter, Webhook, WebhookEvent

LOST = "events.lost"
TEST = "webhook.test"
PLAN_MAX = 20
"""The most calls of a plan that are told in one event."""
_VERDICTS = {
    "approval_approved": WebhookEvent.APPROVAL_DECIDED,
    "approval_denied": WebhookEvent.APPROVAL_DECIDED,
    "approval_cancelled": WebhookEvent.APPROVAL_DECIDED,
    "approval_expired": WebhookEvent.APPROVAL_EXPIRED,
}


class Event(Struct, frozen=True):
    """One event. id: the same each time it is sent. data: what the receiver gets."""

    id: str
    type: str
    timestamp: str
    data: dict[str, Any]

    @property
    def body(self) -> bytes:
        """The body that receivers get: type, timestamp and data."""
        return msgspec.json.encode({"type": self.type, "timestamp": self.timestamp, "data": self.data})


class _Rule(Struct):
    type: str = "default"


class _Entry(Struct, rename="camel"):
    """The fields of an entry that determine its event."""

    id: str
    agent_id: str
    timestamp: str
    tool_name: str = ""
    policy_id: str | None = None
    result: str | None = None
    code: str = ""
    approval_id: str = ""
    rule: _Rule | None = None
    tripped_by: str = ""
    filling: str = ""


_entry = msgspec.json.Decoder(_Entry)


class _Asked(Struct, rename="camel"):
    """The fields of a policy review, as it was asked for, that its event can be narrowed by."""

    policies: tuple[ReviewedPolicy, ...]
    agent_id: str | None = None
    group: str | None = None


class _AgentChanged(Struct):
    """The field of a changed agent that its event depends on."""

    status: AgentStatus = AgentStatus.ACTIVE


_asked = msgspec.json.Decoder(_Asked).decode
_agent_changed = msgspec.json.Decoder(_AgentChanged).decode


class LogEvent(Struct, frozen=True):
    """An event from the log. approval_id: of the approval it is about; "" = none. The others are of the entry."""

    type: WebhookEvent
    entry_id: str
    agent_id: str
    timestamp: str
    approval_id: str
    line: bytes
    code: str
    policy_id: str | None = None

    def event(
        self, workspace_id: str, agent_name: str | None, approval: Approval | None, plan: Sequence[Approval] = ()
    ) -> Event:
        """The event as sent. agent_name: None if the agent no longer exists. approval: its current state; None if it no
        longer exists. plan: the approvals of all calls that the event is about, if they are several.

        Its id is of the last of these calls: until it is delivered, the log may get more calls of the plan, and a
        receiver that has had it without them must not take it for a repetition.
        """
        data: dict[str, Any] = {"workspaceId": workspace_id, "agentName": agent_name, "entry": Raw(self.line)}
        if self.approval_id:
            data["approval"] = approval
        if len(plan) > 1:
            data["plan"] = plan
        position = plan[-1].id if len(plan) > 1 else self.entry_id
        return Event(event_id(workspace_id, "log", position), self.type, self.timestamp, data)

    def is_about(self, only: EventFilter | None, approval: Approval | None, groups: Collection[str]) -> bool:
        """True if it is about one of the policies and groups to which events are narrowed.

        approval: as for `event`; all policies that asked about the call count. groups: of the agent, as they are now.
        """
        if only is None:
            return True
        policies = {self.policy_id, *(() if approval is None else approval.policies)}
        is_of_policy = only.policies is UNSET or not policies.isdisjoint(only.policies)
        return is_of_policy and is_in_groups(only, groups)


def is_in_groups(only: EventFilter | None, groups: Collection[str]) -> bool:
    """True if an agent in these groups is one to which events are narrowed."""
    return only is None or only.groups is UNSET or not set(groups).isdisjoint(only.groups)


def continues_plan(told: Sequence[tuple[LogEvent, Any]], event: LogEvent, approval: Approval | None) -> bool:
    """True if the event asks people about a call of the same plan as the events before it."""
    earlier, first = told[0]
    is_asked = earlier.type is event.type is WebhookEvent.APPROVAL_REQUESTED
    if not is_asked or first is None or approval is None or first.plan is UNSET or approval.plan is UNSET:
        return False
    return bool(first.plan.id == approval.plan.id)


def event_of_line(line: bytes, webhook: Webhook) -> LogEvent | None:
    """The event for the webhook that the entry causes; None if it causes none."""
    if b'"approvalId"' not in line and b'"result":"denied"' not in line:
        return None  # nearly all entries end here; one that contains these words by chance is decoded in vain
    entry = _entry.decode(line)
    kind: WebhookEvent | None = _VERDICTS.get(entry.code)
    if kind is not None and WebhookEvent.ACCESS_REQUEST_COMPLETED in webhook.events:
        kind = WebhookEvent.ACCESS_REQUEST_COMPLETED
    if kind is None and entry.approval_id == entry.id:  # a repeated request has another id
        # One entry is one event: who is told of every call reads there that they pile up.
        only_filling = WebhookEvent.APPROVAL_REQUESTED not in webhook.events and entry.filling
        kind = WebhookEvent.APPROVALS_FILLING if only_filling else WebhookEvent.APPROVAL_REQUESTED
    if kind is None and entry.result == Result.DENIED and _is_sampled(entry, webhook.only):
        kind = WebhookEvent.DECISION_DENIED
    if kind is None or kind not in webhook.events:
        return None
    if kind is not WebhookEvent.ACCESS_REQUEST_COMPLETED and not _is_of_call(entry, webhook.only):
        return None
    approval_id = "" if kind is WebhookEvent.DECISION_DENIED else entry.approval_id
    return LogEvent(
        kind,
        entry.id,
        agent_id=entry.agent_id,
        timestamp=entry.timestamp,
        approval_id=approval_id,
        line=line,
        code=entry.code,
        policy_id=entry.policy_id,
    )


def event_of_task(workspace_id: str, timestamp: str, task: Task, callback: Callback) -> Event | None:
    """The event for whoever requested access, once all is decided; None if the callback does not ask for it."""
    if task.status is TaskStatus.PENDING or (callback.events is not UNSET and task.status not in callback.events):
        return None
    data: dict[str, Any] = {"task": task} | ({} if callback.state is UNSET else {"state": callback.state})
    position = f"{task.id} {task.status}"
    return Event(event_id(workspace_id, "task", position), WebhookEvent.ACCESS_REQUEST_COMPLETED, timestamp, data)


def event_of_change(workspace_id: str, change: Change, only: EventFilter | None = None) -> Event | None:
    """The event that the change causes; None if it causes none. only: agents and policies to which it is narrowed."""
    try:
        kind, policies = _told(change)
    except msgspec.MsgspecError:  # no script wrote this entry, which must not hold up those that follow
        return None
    if kind is None:
        return None
    agent_id = owner_in(change).agent_id
    agents = set[str]() if agent_id is None else {agent_id}
    if only and (_misses(only.policies, policies) or _misses(only.agents, agents)):
        return None
    data = {"workspaceId": workspace_id, "change": change}
    return Event(event_id(workspace_id, "trail", change.id), kind, change.timestamp, data)


def owner_in(change: Change) -> Owner:
    """The agent that was changed, or whose policies a second person is to review; otherwise the group, or nobody."""
    if change.resource_type is ResourceType.AGENT:
        return Owner(change.resource_id)
    if change.resource_type is not ResourceType.POLICY_REVIEW:
        return Owner()
    asked = _asked(change.after)
    return Owner(asked.agent_id, asked.group)


def _told(change: Change) -> tuple[WebhookEvent | None, set[str]]:
    """What the change is told as, None = not at all, and the policies that it is about."""
    match change.resource_type, change.kind:
        case ResourceType.POLICY, _:
            return WebhookEvent.POLICY_CHANGED, {change.resource_id}
        case ResourceType.POLICY_REVIEW, ChangeKind.CREATED:
            policies = {each.policy_id for each in _asked(change.after).policies}
            return WebhookEvent.POLICY_REVIEW_REQUESTED, policies
        case ResourceType.AGENT, ChangeKind.UPDATED if _agent_changed(change.after).status is not AgentStatus.ACTIVE:
            return WebhookEvent.AGENT_SUSPENDED, set()
    return None, set()


def event_of_notice(workspace_id: str, notice_id: str, finding: str) -> Event:
    """The event of a verification's finding."""
    time = rfc3339(int(notice_id.partition("-")[0]))
    data = {"workspaceId": workspace_id, "finding": Raw(finding.encode())}
    kind = WebhookEvent.AUDIT_VERIFICATION_FAILED
    return Event(event_id(workspace_id, "notices", notice_id), kind, time, data)


def lost_event(workspace_id: str, first: int, last: int, now_ms: int) -> Event:
    """The event for entries that retention dropped before the webhook was sent them."""
    data = {"workspaceId": workspace_id, "firstSequence": first, "lastSequence": last}
    return Event(event_id(workspace_id, "lost", str(last)), LOST, rfc3339(now_ms), data)


def event_id(workspace_id: str, source: str, position: str) -> str:
    """An id that is the same for the same occurrence, and different from all others in any workspace."""
    return f"msg_{hashlib.sha256(f'{workspace_id} {source} {position}'.encode()).hexdigest()[:32]}"


def _misses(wanted: Collection[str] | UnsetType, said: Collection[str]) -> bool:
    """True if the event says which these are, and none of them is wanted."""
    return bool(said) and wanted is not UNSET and set(said).isdisjoint(wanted)


def _is_of_call(entry: _Entry, only: EventFilter | None) -> bool:
    """True if agent, tool and code of the entry are among those to which events are narrowed."""
    if only is None:
        return True
    is_of_agent = only.agents is UNSET or entry.agent_id in only.agents
    is_of_tool = only.tools is UNSET or covers(only.tools, entry.tool_name)
    code = entry.code or usual_code(Result(entry.result or ""), None if entry.rule is None else entry.rule.type)
    return is_of_agent and is_of_tool and (only.codes is UNSET or code in only.codes)


def _is_sampled(entry: _Entry, only: EventFilter | None) -> bool:
    """True if the denial is of one of the rules, and in the share, to which denials are narrowed."""
    if only is None:
        return True
    kinds = {"default" if entry.rule is None else entry.rule.type}
    if entry.tripped_by:
        kinds.add(DenialCounted.tag())
    if only.rule_types is not UNSET and kinds.isdisjoint(only.rule_types):
        return False
    return int(hashlib.sha256(entry.id.encode()).hexdigest()[:8], 16) < (only.sample or 1) * (1 << 32)
