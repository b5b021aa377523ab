"""Sets of policies as the API shows them."""

from collections.abc import Sequence
from typing import Annotated, Self

from msgspec import Meta, Struct
from msgspec.structs import asdict

from app.http.views.policies import PolicyView
from app.model.agents import GroupName
from app.model.fields import AgentId, Uuid
from app.model.policies import Owner
from app.model.policy_sets import AppliedSet, PolicyChange, PolicySet
from app.policy_tools.lint import PolicyWarning

SetVersion = Annotated[
    str, Meta(description="Changes with every change of these policies; the same string as in ETag.")
]


class PolicySetView(Struct, frozen=True, kw_only=True, rename="camel"):
    """All policies of an agent, of a group or of the workspace. It can be sent back unchanged.

    agent_id: The agent that owns them; null for a group, or every agent of the workspace.
    group: The group of agents that owns them; null for an agent, or every agent.
    policies: The policies, in evaluation order.
    """

    agent_id: AgentId | None
    group: GroupName | None
    version: SetVersion
    policies: list[PolicyView]

    @classmethod
    def of(cls, policy_set: PolicySet, owner: Owner) -> Self:
        policies = [PolicyView.of(policy) for policy in policy_set.policies]
        return cls(**asdict(owner), version=policy_set.version, policies=policies)


class AppliedSetView(PolicySetView, frozen=True, kw_only=True, rename="camel"):
    """All policies of an owner after a write, and the ids of those that it changed.

    created: Ids of new policies.
    updated: Ids of policies that were changed.
    deleted: Ids of policies that were deleted.
    warnings: What is valid but probably not meant in the policies that were sent.
    """

    created: list[Uuid]
    updated: list[Uuid]
    deleted: list[Uuid]
    warnings: list[PolicyWarning]

    @classmethod
    def applied(cls, done: AppliedSet, owner: Owner, warnings: Sequence[PolicyWarning]) -> Self:
        return cls(
            **asdict(PolicySetView.of(done.applied, owner)),
            created=_ids(done.changes, "created"),
            updated=_ids(done.changes, "updated"),
            deleted=_ids(done.changes, "deleted"),
            warnings=list(warnings),
        )


def _ids(changes: Sequence[PolicyChange], kind: str) -> list[str]:
    return [change.policy.id for change in changes if change.kind == kind]
