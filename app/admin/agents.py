"""Create, change and delete agents."""

from app.model.requests import AgentChanges, NewAgent, given
from app.approvals.reaper import ApprovalReaper
from app.model.actors import ChangedBy
from app.model.agents import Agent, AgentStatus
from app.store.agents import Agents
from app.store.optimistic import Versions


class AgentAdmin:
    """Changes the agents of workspaces, and ends the approvals that lose their agent."""

    def __init__(self, agents: Agents, reaper: ApprovalReaper) -> None:
        self._agents = agents
        self._reaper = reaper

    async def create(self, workspace_id: str, new: NewAgent, by: ChangedBy) -> Agent:
        """Create an active agent; without policies, all its calls are denied. Raises LimitReached, AliasTaken."""
        groups = new.groups or ()
        return await self._agents.create(
            workspace_id, new.name, new.description, groups, alias=new.alias, kind=new.type, by=by
        )

    async def update(
        self, workspace_id: str, agent_id: str, changes: AgentChanges, by: ChangedBy, if_match: Versions = None
    ) -> Agent:
        """The agent with these changes. Raises AgentNotFound, VersionConflict, AliasTaken, AgentRevoked."""
        agent = await self._agents.update(workspace_id, agent_id, **given(changes), if_match=if_match, by=by)
        if agent.status is not AgentStatus.ACTIVE:
            await self._reaper.end_soon(workspace_id, agent.id)
        return agent

    async def forget(self, workspace_id: str, agent_id: str, by: ChangedBy, if_match: Versions = None) -> None:
        """Forget what people have approved for the agent so far. Raises AgentNotFound, VersionConflict."""
        await self._agents.update(workspace_id, agent_id, forgets=True, if_match=if_match, by=by)

    async def delete(self, workspace_id: str, agent_id: str, by: ChangedBy, if_match: Versions = None) -> None:
        """Delete the agent, its policies and its quotas; its entries stay. Raises AgentNotFound, VersionConflict."""
        await self._agents.delete(workspace_id, agent_id, if_match=if_match, by=by)
        await self._reaper.end_soon(workspace_id, agent_id)
