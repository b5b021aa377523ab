"""Agents as the API and the command line show them."""

from msgspec import UNSET, Struct, UnsetType

from app.http.views import as_view
from app.model.agents import Agent, AgentStatus, AgentType, Alias, Groups, Trip
from app.model.fields import AgentDescription, CreatedAt, DisplayName, Id, UpdatedAt, VersionNumber


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
        return as_view(cls, agent, version=agent.revision)
