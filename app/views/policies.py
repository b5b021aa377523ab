"""Policies as the API and the command line show them."""

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.lint import PolicyWarning
from app.model.agents import GroupName
from app.model.fields import AgentId, AgentMessage, CreatedAt, DisplayName, Id, UpdatedAt, VersionNumber
from app.model.policies import Policy, PolicyKind, PolicyMode
from app.model.policy_keys import PolicyKey
from app.model.rules import PolicyRule
from app.model.times import rfc3339


class PolicyView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A policy as the API shows it; rules are returned as they were given.

    agent_id: The agent that owns it; null for a group, or every agent of the workspace.
    group: The group of agents that owns it; null for an agent, or every agent.
    kind: A grant decides by tiers. A guardrail is evaluated on every call and never allows.
    rules: The rules, in order. Any that denies denies; else any that escalates escalates.
    priority: Higher values are evaluated first; policies of equal priority decide together.
    enabled: A policy that is not enabled is skipped.
    mode: `enforce` decides; `shadow` changes no answer, and the log says where it would have.
    """

    id: Id
    agent_id: AgentId | None
    group: GroupName | None
    key: PolicyKey | None
    kind: PolicyKind
    name: DisplayName
    rules: list[PolicyRule]
    priority: int
    enabled: bool
    mode: PolicyMode
    agent_message: AgentMessage | None
    version: VersionNumber
    created_at: CreatedAt
    updated_at: UpdatedAt

    @classmethod
    def of(cls, policy: Policy) -> "PolicyView":
        return cls(
            id=policy.id,
            agent_id=policy.agent_id,
            group=policy.group,
            key=policy.key,
            kind=policy.kind,
            name=policy.name,
            rules=list(policy.rules),
            priority=policy.priority,
            enabled=policy.enabled,
            mode=policy.mode,
            agent_message=policy.agent_message,
            version=policy.version,
            created_at=rfc3339(policy.created_ms),
            updated_at=rfc3339(policy.updated_ms),
        )


class WrittenPolicyView(PolicyView, frozen=True, kw_only=True, rename="camel"):
    """A policy in the answer to the request that wrote it.

    warnings: What is valid but probably not meant, judged together with everything that governs the same agents; left
    out if there is nothing to warn about.
    """

    warnings: list[PolicyWarning] | UnsetType = UNSET

    @classmethod
    def written(cls, policy: Policy, warnings: list[PolicyWarning]) -> "WrittenPolicyView":
        return cls(**msgspec.structs.asdict(PolicyView.of(policy)), warnings=warnings or UNSET)
