"""Each endpoint as a function that makes its request; `client.send(call)` sends it."""

# ruff: noqa: PLC0414 - the endpoints of policies and webhooks are endpoints of this module
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from remit_client.catalog_calls import (
    delete_catalog_tool as delete_catalog_tool,
)
from remit_client.catalog_calls import (
    get_catalog_tool as get_catalog_tool,
)
from remit_client.catalog_calls import (
    list_catalog as list_catalog,
)
from remit_client.catalog_calls import (
    put_catalog as put_catalog,
)
from remit_client.catalog_calls import (
    put_catalog_tool as put_catalog_tool,
)
from remit_client.models import Agent, ApiKey, Approval, AuditEntry, Decision, Json, NotAnAnswer, tool_statuses
from remit_client.policy_calls import (
    create_policy as create_policy,
)
from remit_client.policy_calls import (
    delete_policy as delete_policy,
)
from remit_client.policy_calls import (
    get_policies as get_policies,
)
from remit_client.policy_calls import (
    get_policy as get_policy,
)
from remit_client.policy_calls import (
    lint_policies as lint_policies,
)
from remit_client.policy_calls import (
    list_policies as list_policies,
)
from remit_client.policy_calls import (
    list_policy_versions as list_policy_versions,
)
from remit_client.policy_calls import (
    policy_divergence as policy_divergence,
)
from remit_client.policy_calls import (
    policy_schema as policy_schema,
)
from remit_client.policy_calls import (
    put_policies as put_policies,
)
from remit_client.policy_calls import (
    roll_back_policy as roll_back_policy,
)
from remit_client.policy_calls import (
    update_policy as update_policy,
)
from remit_client.streams import Events, Export, Replay
from remit_client.webhook_calls import (
    create_webhook as create_webhook,
)
from remit_client.webhook_calls import (
    delete_webhook as delete_webhook,
)
from remit_client.webhook_calls import (
    get_webhook as get_webhook,
)
from remit_client.webhook_calls import (
    list_unsent_events as list_unsent_events,
)
from remit_client.webhook_calls import (
    list_webhook_deliveries as list_webhook_deliveries,
)
from remit_client.webhook_calls import (
    list_webhooks as list_webhooks,
)
from remit_client.webhook_calls import (
    retry_webhook_events as retry_webhook_events,
)
from remit_client.webhook_calls import (
    rotate_webhook_secret as rotate_webhook_secret,
)
from remit_client.webhook_calls import (
    send_webhook_test as send_webhook_test,
)
from remit_client.webhook_calls import (
    update_webhook as update_webhook,
)
from remit_client.wire import SILENCE_S, TEXT, Call, Stream, as_it_is, given, listed, nothing, segment

POLL_S = 30


Records = Mapping[str, Mapping[str, "str | int | float | bool | None"]]
"""What rules may read of a call's result: by their names, records of texts, numbers and booleans."""
Semantics = Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit", "all_or_nothing"]


def authorize(
    agent: str,
    tool: str,
    parameters: Json | None = None,
    context: Json | None = None,
    action: str | None = None,
    idempotency_key: str | None = None,
    approval_id: str | None = None,
) -> Call[Decision]:
    """May this call be made? `agent` is its id. `approval_id`: the only approval that may let it through."""
    body: dict[str, Any] = {"agent_id": agent, "tool_name": tool, "parameters": parameters or {}}
    if context:
        body["context"] = context
    if action is not None:
        body["action"] = action
    if approval_id is not None:
        body["approval_id"] = approval_id
    return Call(
        "POST",
        "/v1/authorize",
        Decision.read,
        body=body,
        repeatable=idempotency_key is not None,
        idempotency_key=idempotency_key,
    )


def authorize_many(
    asked: Sequence[Call[Decision]], semantics: Semantics = "execute_all", idempotency_key: str | None = None
) -> Call[list[Decision]]:
    """May these calls be made? Each as `authorize` makes it; at most 1,000, or 128 for `all_or_nothing`."""

    def read(answer: Any) -> list[Decision]:
        decisions = Decision.read_many(answer)
        complete = semantics in ("execute_all", "all_or_nothing")
        if len(decisions) > len(asked) or (complete and len(decisions) < len(asked)):
            raise NotAnAnswer(f"{len(decisions)} decisions on {len(asked)} calls")
        return decisions

    body = {"calls": [each.body for each in asked], "semantics": semantics}
    return Call(
        "POST",
        "/v1/authorize/batch",
        read,
        body=body,
        repeatable=idempotency_key is not None,
        idempotency_key=idempotency_key,
    )


def explain(
    agent: str,
    tool: str,
    parameters: Json | None = None,
    context: Json | None = None,
    *,
    at: str | None = None,
    policies: Sequence[Json] | None = None,
) -> Call[Any]:
    """What would be answered and why, rule by rule. Nothing is taken, logged or created.

    policies: drafts; each replaces the policy with its id, or is added.
    """
    body = {"agent_id": agent, "tool_name": tool, "parameters": parameters or {}}
    return Call("POST", "/v1/explain", as_it_is, body={**body, **given(context=context, at=at, policies=policies)})


def replay(
    policies: Sequence[Json] | None = None,
    agent: str | None = None,
    group: str | None = None,
    since: str | None = None,
    to: str | None = None,
) -> Stream[Any]:
    """Judge the log again under draft policies, for `client.stream`; the last record is `{"report": …}`."""
    body = _filters(given(agent_id=agent, group=group, since=since, to=to, policies=policies))
    return Stream("POST", "/v1/replay", as_it_is, body=body, wait_seconds=SILENCE_S, reader=Replay)


def report_outcome(decision_id: str, status: str, records: Records | None = None) -> Call[Any]:
    """Report what became of an allowed call: `executed`, `failed` or `not_executed`; once, with the key that asked.

    records: of a call that was executed, what rules may read of its result: by their names, fields that are texts,
    numbers or booleans. The key needs the scope `record`.
    """
    body = {"status": status} | ({"records": records} if records else {})
    return Call("POST", f"/v1/decisions/{segment(decision_id)}/outcome", as_it_is, body=body)


def get_approval(approval_id: str, wait: float = 0.0) -> Call[Approval]:
    """One approval; with `wait`, once it has been decided, or after at most that many seconds.

    wait: at most 30; rounded up to whole seconds.
    """
    seconds = math.ceil(max(0.0, min(wait, POLL_S)))
    path = f"/v1/approvals/{segment(approval_id)}"
    query = {"wait": seconds} if seconds else {}

    def read(answer: Any) -> Approval:
        approval = Approval.read(answer)
        if approval.id.lower() != approval_id.lower():
            raise NotAnAnswer("it is another approval's")
        return approval

    return Call("GET", path, read, query=query, wait_seconds=seconds, repeatable=True)


def get_usual(approval_id: str) -> Call[Any]:
    """The call beside what its agent was allowed to do with the tool before: for each value what is unusual."""
    return Call("GET", f"/v1/approvals/{segment(approval_id)}/usual", as_it_is, repeatable=True)


def list_approvals(
    status: str | None = None,
    agent: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    *,
    tool: str | None = None,
    plan: str | None = None,
) -> Call[list[Approval]]:
    """The workspace's approvals, newest first; `cursor` is the id of the last one of the page before.

    status: one, or several, comma-separated. plan: only the calls of this plan.
    """
    query = given(status=status, agent_id=agent, tool_name=tool, plan_id=plan, limit=limit, cursor=cursor)
    return Call("GET", "/v1/approvals", listed(Approval.read), query=query, repeatable=True)


def approve(
    approval_id: str,
    note: str | None = None,
    uses: int | None = None,
    valid_seconds: int | None = None,
    accept_hidden: bool | None = None,
) -> Call[Approval]:
    """Approve the call, for so many uses and so long; the key that asked cannot."""
    body = given(note=note, uses=uses, validSeconds=valid_seconds, acceptHidden=accept_hidden)
    return Call("POST", f"/v1/approvals/{segment(approval_id)}/approve", Approval.read, body=body)


def deny(approval_id: str, note: str | None = None) -> Call[Approval]:
    """Deny the call."""
    return Call("POST", f"/v1/approvals/{segment(approval_id)}/deny", Approval.read, body=given(note=note))


def decide_approvals(
    seen: Mapping[str, int], decision: str, note: str | None = None, struck_out: Mapping[str, int] | None = None
) -> Call[list[Any]]:
    """`approve` or `deny` several approvals, each by itself; an item of the answer has an `approval` or an `error`.

    seen: the version, by id, at which each was read. struck_out: the same, of those that are denied instead.
    """
    approvals, denied = (
        [{"id": each, "version": version} for each, version in some.items()] for some in (seen, struck_out or {})
    )
    body = {"approvals": approvals, "decision": decision, **given(note=note, struckOut=denied or None)}
    return Call("POST", "/v1/approvals/decide", listed(as_it_is), body=body)


def cancel(approval_id: str, note: str | None = None) -> Call[Approval]:
    """Withdraw the request for approval; only the key that asked can."""
    return Call("POST", f"/v1/approvals/{segment(approval_id)}/cancel", Approval.read, body=given(note=note))


def create_agent(name: str, **fields: Any) -> Call[Agent]:
    """Create an agent, active and without policies; `groups` and `description` as in the API."""
    return Call("POST", "/v1/agents", Agent.read, body={"name": name, **fields})


def list_agents(limit: int | None = None, offset: int | None = None, **filters: Any) -> Call[list[Agent]]:
    """The workspace's agents, oldest first."""
    query = given(limit=limit, offset=offset, **filters)
    return Call("GET", "/v1/agents", listed(Agent.read), query=query, repeatable=True)


def get_agent(agent: str) -> Call[Agent]:
    """One agent."""
    return Call("GET", f"/v1/agents/{segment(agent)}", Agent.read, repeatable=True)


def update_agent(agent: str, **changes: Any) -> Call[Agent]:
    """Change these fields of the agent."""
    return Call("PATCH", f"/v1/agents/{segment(agent)}", Agent.read, body=changes)


def delete_agent(agent: str) -> Call[None]:
    """Delete the agent and its policies; its log stays."""
    return Call("DELETE", f"/v1/agents/{segment(agent)}", nothing)


def list_agent_tools(agent: str) -> Call[dict[str, str]]:
    """What the agent may call, by tool: `allowed`, `conditional`, `escalated` or `denied`, whatever the parameters.

    404 if the service does not have this endpoint.
    """
    return Call("GET", f"/v1/agents/{segment(agent)}/tools", tool_statuses, repeatable=True)


def list_named_tools(agent: str, names: Sequence[str]) -> Call[dict[str, str]]:
    """The same for up to 1,000 tools by name, whether or not the service knows them."""
    body = {"names": list(names)}
    return Call("POST", f"/v1/agents/{segment(agent)}/tools", tool_statuses, body=body, repeatable=True)


def list_remembered(agent: str) -> Call[list[Any]]:
    """The values that count as approved before for the agent, each by its approval; the latest approved first."""
    return Call("GET", f"/v1/agents/{segment(agent)}/remembered", list, repeatable=True)


def forget_remembered(agent: str) -> Call[None]:
    """Let nothing that people have approved for the agent so far count as approved before."""
    return Call("DELETE", f"/v1/agents/{segment(agent)}/remembered", nothing)


def pin_request(session: str, request: str, valid_seconds: int | None = None) -> Call[Any]:
    """Pin the user's request of a session, with a key of the scope `request`; the first one counts."""
    body = {"request": request} | ({} if valid_seconds is None else {"validSeconds": valid_seconds})
    return Call("POST", f"/v1/sessions/{segment(session)}/request", as_it_is, body=body, repeatable=True)


def get_pinned_request(session: str) -> Call[Any]:
    """What is known about the request that is pinned for a session; its text is not stored."""
    return Call("GET", f"/v1/sessions/{segment(session)}/request", as_it_is, repeatable=True)


def create_api_key(name: str, scopes: Sequence[str], expires_at: str | None = None, **fields: Any) -> Call[ApiKey]:
    """Create a key; only this answer contains its secret."""
    body = {"name": name, "scopes": list(scopes), **given(expiresAt=expires_at), **fields}
    return Call("POST", "/v1/api-keys", ApiKey.read, body=body)


def list_api_keys(limit: int | None = None, offset: int | None = None) -> Call[list[ApiKey]]:
    """The workspace's keys, without their secrets."""
    query = given(limit=limit, offset=offset)
    return Call("GET", "/v1/api-keys", listed(ApiKey.read), query=query, repeatable=True)


def rotate_api_key(key_id: str, overlap_seconds: int | None = None, expires_at: str | None = None) -> Call[ApiKey]:
    """Replace the key by a successor, whose secret only this answer contains; the key expires after the overlap."""
    body = given(overlapSeconds=overlap_seconds, expiresAt=expires_at)
    return Call("POST", f"/v1/api-keys/{segment(key_id)}/rotate", ApiKey.read, body=body)


def who_am_i() -> Call[Any]:
    """The workspace, the scopes and the expiry of the key or session in use."""
    return Call("GET", "/v1/session", as_it_is, repeatable=True)


def revoke_api_key(key_id: str, *, force: bool = False) -> Call[None]:
    """Revoke the key, with immediate effect; the last admin key only with `force`."""
    query = {"force": "true"} if force else {}
    return Call("DELETE", f"/v1/api-keys/{segment(key_id)}", nothing, query=query)


def list_audit_logs(**filters: Any) -> Call[list[AuditEntry]]:
    """Decisions, newest first; filters as in the API (`since` is its `from`), `q` finds a text.

    With `id`, `session`, `user`, `subject` or `q`, a page may be short: go on with its `next_cursor`, if it has one.
    """
    return Call("GET", "/v1/audit-logs", listed(AuditEntry.read), query=_filters(filters), repeatable=True)


def get_audit_entry(entry_id: str) -> Call[AuditEntry]:
    """One decision, by the id that `authorize` answered with."""
    return Call("GET", f"/v1/audit-logs/{segment(entry_id)}", AuditEntry.read, repeatable=True)


def explain_audit_entry(entry_id: str) -> Call[Any]:
    """Why a past decision was made, by the policies of that time."""
    return Call("GET", f"/v1/audit-logs/{segment(entry_id)}/explanation", as_it_is, repeatable=True)


def export_audit_logs(**filters: Any) -> Stream[Any]:
    """The log, oldest first, for `client.stream`; if the stream ends without an exception, it is complete."""
    query = _filters(filters)
    return Stream("GET", "/v1/audit-logs/export", as_it_is, query=query, wait_seconds=SILENCE_S, reader=Export)


def follow_audit_logs(after: str | None = None, **filters: Any) -> Stream[Any]:
    """New entries of the log, as events for `client.stream`: from now on, or after the event with this id."""
    return _followed("/v1/audit-logs/stream", after, _filters(filters))


def follow_approvals(after: str | None = None) -> Stream[Any]:
    """Changes of approvals, as events for `client.stream`: from now on, or after the event with this id."""
    return _followed("/v1/approvals/stream", after, {})


def list_changes(**filters: Any) -> Call[list[Any]]:
    """Who changed what, newest first."""
    return Call("GET", "/v1/changes", listed(as_it_is), query=given(**filters), repeatable=True)


def verify_audit_logs(**filters: Any) -> Call[Any]:
    """Verify the log's hash chain."""
    return Call("GET", "/v1/audit-logs/verify", as_it_is, query=given(**filters), repeatable=True, wait_seconds=60)


def audit_counts(by: str = "result", **filters: Any) -> Call[Any]:
    """Entries counted by result, agent, tool, policy or code. filters: as in the API; `step` also counts over time."""
    return Call("GET", "/v1/audit-logs/counts", as_it_is, query={"by": by, **_filters(filters)}, repeatable=True)


def audit_checkpoint() -> Call[str]:
    """The newest signed checkpoint of the log: a note in text form, to be kept as it is."""
    return Call("GET", "/v1/audit-logs/checkpoint", as_it_is, repeatable=True, media=TEXT)


def changes_checkpoint() -> Call[str]:
    """The newest signed checkpoint of the trail of changes, as that of the log."""
    return Call("GET", "/v1/changes/checkpoint", as_it_is, repeatable=True, media=TEXT)


def audit_proof(entry_id: str) -> Call[str]:
    """The proof that the newest signed checkpoint covers a decision: a file that can be verified offline."""
    return Call("GET", f"/v1/audit-logs/{segment(entry_id)}/proof", as_it_is, repeatable=True, media=TEXT)


def audit_status() -> Call[Any]:
    """How much of the log is sealed, and the lag."""
    return Call("GET", "/v1/audit-logs/status", as_it_is, repeatable=True)


def ready() -> Call[Any]:
    """Whether the service can decide now."""
    return Call("GET", "/readyz", as_it_is, repeatable=True)


def any_other(method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None) -> Call[Any]:
    """Call an endpoint that has no function here yet; the answer is its JSON."""
    return Call(method, path, as_it_is, query=query or {}, body=body, repeatable=method == "GET")


def _filters(filters: dict[str, Any]) -> dict[str, Any]:
    """The API's filters; `since` stands for `from`, which is a keyword in Python."""
    return given(**{"from" if name == "since" else name: value for name, value in filters.items()})


def _followed(path: str, after: str | None, query: dict[str, Any]) -> Stream[Any]:
    headers = {} if after is None else {"Last-Event-ID": after}
    return Stream("GET", path, as_it_is, query=query, wait_seconds=SILENCE_S, headers=headers, reader=Events)
