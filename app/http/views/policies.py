"""Policies as the API and the command line show them."""

from typing import Any, get_args

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from app.http.views import as_view
from app.model.agents import GroupName
from app.model.fields import AgentId, CreatedAt, Id, UpdatedAt, VersionNumber
from app.model.policies import Policy, answered, field_types, struct_of, values_of
from app.policy_tools.lint import PolicyWarning

_BOUNDED = field_types(bounds=True)
_FIELDS = {
    # No bounds of numbers and lists: a policy stored before a bound was lowered need not satisfy it.
    name: _BOUNDED[name] if str in (kind, *get_args(kind)) else kind
    for name, kind in field_types(bounds=False).items()
}
_OWNED = {"id": Id, "agent_id": AgentId | None, "group": GroupName | None}
_OWN = {"version": VersionNumber, "created_at": CreatedAt, "updated_at": UpdatedAt}
_Shown: Any = struct_of("_Shown", _OWNED | answered(_FIELDS) | _OWN, rename="camel")


class PolicyView(_Shown):  # type: ignore[misc]  # its fields are those of PolicyFields
    """A policy as the API shows it; rules are returned as they were given.

    agent_id: The agent that owns it; null for a group, or every agent of the workspace.
    group: The group of agents that owns it; null for an agent, or every agent.
    """

    @classmethod
    def of(cls, policy: Policy) -> "PolicyView":
        return as_view(cls, policy, **values_of(policy))


_Planned: Any = struct_of("_Planned", {"id": Id | UnsetType} | answered(_FIELDS), rename="camel")


class PlannedPolicyView(_Planned):  # type: ignore[misc]  # its fields are those of PolicyFields
    """A policy of a set as it would be.

    id: Of the policy that would change; left out if it would be new.
    """

    @classmethod
    def planned(cls, before: Policy | None, after: Policy) -> "PlannedPolicyView":
        return cls(id=UNSET if before is None else before.id, **values_of(after))


class WrittenPolicyView(PolicyView, kw_only=True):  # type: ignore[call-arg]
    """A policy in the answer to the request that wrote it.

    warnings: What is valid but probably not meant, judged together with everything that governs the same agents; left
    out if there is nothing to warn about.
    """

    warnings: list[PolicyWarning] | UnsetType = UNSET

    @classmethod
    def written(cls, policy: Policy, warnings: list[PolicyWarning]) -> "WrittenPolicyView":
        return cls(**asdict(PolicyView.of(policy)), warnings=warnings or UNSET)
