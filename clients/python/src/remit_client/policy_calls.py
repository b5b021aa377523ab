"""The endpoints of policies, as functions that make their requests; also available in `calls`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remit_client.models import Json, Policy
from remit_client.wire import Call, as_it_is, given, listed, nothing, segment


def create_policy(agent: str | None, name: str, rules: Sequence[Json], **fields: Any) -> Call[Policy]:
    """Create a policy, in force at once. `agent` is None if it belongs to a `group` or the whole workspace."""
    body = given(agent_id=agent) | {"name": name, "rules": list(rules), **fields}
    return Call("POST", "/v1/policies", Policy.read, body=body)


def list_policies(agent: str | None = None, **filters: Any) -> Call[list[Policy]]:
    """Policies in the order of evaluation."""
    query = given(agent_id=agent, **filters)
    return Call("GET", "/v1/policies", listed(Policy.read), query=query, repeatable=True)


def get_policy(policy_id: str) -> Call[Policy]:
    """One policy."""
    return Call("GET", f"/v1/policies/{segment(policy_id)}", Policy.read, repeatable=True)


def update_policy(policy_id: str, **changes: Any) -> Call[Policy]:
    """Change these fields of the policy."""
    return Call("PATCH", f"/v1/policies/{segment(policy_id)}", Policy.read, body=changes)


def delete_policy(policy_id: str) -> Call[None]:
    """Delete the policy."""
    return Call("DELETE", f"/v1/policies/{segment(policy_id)}", nothing)


def get_policies(agent: str | None = None, group: str | None = None) -> Call[Any]:
    """All policies of an agent, of a group or, if neither is given, of the workspace, read at one moment."""
    return Call("GET", _owner(agent, group), as_it_is, repeatable=True)


def put_policies(
    policies: Sequence[Json],
    agent: str | None = None,
    group: str | None = None,
    *,
    version: str | None = None,
    prune: bool = False,
) -> Call[Any]:
    """Replace a whole set of policies at once, or nothing of it.

    version: from `get_policies`; refused if it has changed. prune: delete policies that are not in the set.
    """
    body = {"policies": list(policies), **given(version=version)}
    return Call("PUT", _owner(agent, group), as_it_is, body=body, query={"prune": "true"} if prune else {})


def lint_policies(policies: Sequence[Json], agent: str | None = None, group: str | None = None) -> Call[Any]:
    """Warnings about these policies, next to their owner's: valid, but probably not meant. Nothing is written."""
    body = {"policies": list(policies), **given(agent_id=agent, group=group)}
    return Call("POST", "/v1/policies/lint", as_it_is, body=body, repeatable=True)


def policy_schema() -> Call[Any]:
    """The JSON Schema of a policy, for editors."""
    return Call("GET", "/v1/policies/schema.json", as_it_is, repeatable=True)


def list_policy_versions(policy_id: str, limit: int | None = None) -> Call[list[Any]]:
    """The policy as it was after each of its changes, newest first."""
    path = f"/v1/policies/{segment(policy_id)}/versions"
    return Call("GET", path, listed(as_it_is), query=given(limit=limit), repeatable=True)


def policy_divergence(policy_id: str) -> Call[Any]:
    """How often the shadow policy would have changed a result, since its last change."""
    return Call("GET", f"/v1/policies/{segment(policy_id)}/divergence", as_it_is, repeatable=True)


def roll_back_policy(policy_id: str, version: int) -> Call[Policy]:
    """Restore the policy as it was in that version."""
    return Call("POST", f"/v1/policies/{segment(policy_id)}/rollback", Policy.read, body={"version": version})


def _owner(agent: str | None, group: str | None) -> str:
    if agent is not None and group is not None:
        raise ValueError("policies govern an agent or a group; name one of them, or neither for the workspace")
    if agent is not None:
        return f"/v1/agents/{segment(agent)}/policies"
    return "/v1/workspace/policies" if group is None else f"/v1/groups/{segment(group)}/policies"
