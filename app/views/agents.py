"""Agents as the API and the command line show them."""

from msgspec import UNSET, Struct, UnsetType

from app.model.agents import Agent, AgentStatus, AgentType, Alias, Groups, Trip
from app.model.fields import AgentDescription, CreatedAt, DisplayName, Id, UpdatedAt, VersionNumber
from app.model.times import rfc3339


class AgentView(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent as the API shows it.

    status: Only an active agent is ever allowed anything.
    tripped: The denial breaker that suspended it; left out if none did.
    """

    id: Id
    name: DisplayName
    alias: Alias | None
    type: AgentType
    description: AgentDescription | None
    status: AgentStatus
    groups: Groups
    version: VersionNumber
    created_at: CreatedAt
    updated_at: UpdatedAt
    tripped: Trip | UnsetType = UNSET

    @classmethod
    def of(cls, agent: Agent) -> "AgentView":
        return cls(
            id=agent.id,
            name=agent.name,
            alias=agent.alias,
            type=agent.type,
            description=agent.description,
            status=agent.status,
            groups=list(agent.groups),
            version=agent.revision,
            created_at=rfc3339(agent.created_ms),
            updated_at=rfc3339(agent.updated_ms),
            tripped=UNSET if agent.tripped is None else agent.tripped,
        )
