"""Drafts: policies that are tried without being stored."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from app.model.agents import Agent
from app.model.policies import WORKSPACE, Owner, Policy, PolicyKind, new_policy, values_of
from app.model.policy_sets import PolicyEntry
from app.model.text import FieldError

_NEW = "draft "


def with_drafts(agent: Agent, policies: Iterable[Policy], drafts: Sequence[PolicyEntry]) -> list[Policy]:
    """The policies that would govern the agent: each draft replaces the one with its id, or is added.

    A draft without an id is the agent's own, unless it names a group of the agent; a guardrail for the whole workspace
    governs this agent as well. Drafts are at version 0. Raises FieldError if one cannot govern the agent.
    """
    governing = {policy.id: policy for policy in policies}
    newest_ms = max((policy.created_ms for policy in governing.values()), default=0)
    for index, draft in enumerate(drafts):
        where = f"policies[{index}]"
        if draft.id is not None and draft.id not in governing:
            raise FieldError(f"{where}.id", "is not a policy of this agent; leave it out to add a policy")
        if draft.id is None and draft.agent_id not in (None, agent.id, agent.alias):
            raise FieldError(f"{where}.agentId", "is another agent; leave it out, or ask about that one")
        if draft.id is None and draft.group is not None and draft.group not in agent.groups:
            raise FieldError(
                f"{where}.group", "the agent is not in this group; leave it out, or ask about another agent"
            )
        if draft.id is not None:
            before = governing[draft.id]
            if draft.kind is PolicyKind.GRANT and before.owner == WORKSPACE:
                raise FieldError(f"{where}.kind", "a policy for the whole workspace is a guardrail")
            governing[draft.id] = replace(before, **values_of(draft), version=0)
            continue
        made_ms = newest_ms + 1 + index
        owner = Owner(group=draft.group) if draft.group is not None else Owner(agent.id)
        policy = new_policy(owner, draft, f"{_NEW}{index}")
        governing[policy.id] = replace(policy, created_ms=made_ms, updated_ms=made_ms)
    return list(governing.values())


def id_if_stored(policy_id: str | None) -> str | None:
    """The policy's id, or None for a draft that has none."""
    return None if policy_id is None or policy_id.startswith(_NEW) else policy_id
