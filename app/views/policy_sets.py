"""Sets of policies as the API shows them."""

from collections.abc import Sequence
from typing import Annotated, Self

from msgspec import Meta, Struct

from app.lint import PolicyWarning
from app.model.agents import GroupName
from app.model.fields import AgentId, Uuid
from app.model.policy_sets import AppliedSet, PolicyChange, PolicySet
from app.views.policies import PolicyView

SetVersion = Annotated[
    str, Meta(description="Another one after every change of these policies; the same text as in ETag.")
]


class PolicySetView(Struct, frozen=True, kw_only=True, rename="camel"):
    """All policies of an agent, of a group or of the workspace. It can be sent back as it is.

    agent_id: The agent that they govern; null: a group, or every agent of the workspace.
    group: The group of agents that they govern; null: an agent, or every agent.
    policies: In the order in which they are evaluated.
    """

    agent_id: AgentId | None
    group: GroupName | None
    version: SetVersion
    policies: list[PolicyView]

    @classmethod
    def of(cls, held: PolicySet, agent_id: str | None, group: str | None) -> Self:
        policies = [PolicyView.of(each) for each in held.policies]
        return cls(agent_id=agent_id, group=group, version=held.version, policies=policies)


class AppliedSetView(Struct, frozen=True, kw_only=True, rename="camel"):
    """All policies of an owner as they are now, and ids of those that were changed for it.

    agent_id: The agent that they govern; null: a group, or every agent of the workspace.
    group: The group of agents that they govern; null: an agent, or every agent.
    policies: In the order in which they are evaluated.
    created: Policies that are new.
    updated: Policies that were there and are not as they were.
    deleted: Policies that are gone.
    warnings: What of the policies that were sent is valid and probably not meant.
    """

    agent_id: AgentId | None
    group: GroupName | None
    version: SetVersion
    policies: list[PolicyView]
    created: list[Uuid]
    updated: list[Uuid]
    deleted: list[Uuid]
    warnings: list[PolicyWarning]

    @classmethod
    def of(
        cls, done: AppliedSet, agent_id: str | None, group: str | None, warnings: Sequence[PolicyWarning] = ()
    ) -> Self:
        return cls(
            agent_id=agent_id,
            group=group,
            version=done.applied.version,
            policies=[PolicyView.of(each) for each in done.applied.policies],
            created=_ids(done.changes, "created"),
            updated=_ids(done.changes, "updated"),
            deleted=_ids(done.changes, "deleted"),
            warnings=list(warnings),
        )


def _ids(changes: Sequence[PolicyChange], kind: str) -> list[str]:
    return [change.policy.id for change in changes if change.kind == kind]
