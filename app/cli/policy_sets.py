"""Policy sets as `remit policy` reads and writes them: in the store, or in a running service over HTTP."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from app.admin.requests import NewAgent
from app.model.actors import ChangedBy
from app.model.policies import Owner
from app.model.policy_sets import PolicyEntry, PolicySet

if TYPE_CHECKING:
    from app.lint import PolicyWarning
    from app.model.policies import Policy
    from app.model.replays import ReplayReport
    from app.policy_files.policy_file import FileAgent
    from app.replica import Services

T = TypeVar("T")


NEW_AGENT = Owner("")
"""An agent that is still to be created."""


class Sets(Protocol):
    """Reads and writes the policy sets of one workspace."""

    async def agent(self, called: str) -> tuple[str, str]:
        """Id and name of the agent with this id, this alias or, if only one has it, this name.

        Raises AgentNotFound, Invalid.
        """

    async def create_agent(self, agent: "FileAgent", by: ChangedBy) -> str:
        """Create an agent and return its id."""

    async def get(self, owner: Owner) -> PolicySet: ...

    async def put(self, owner: Owner, entries: list[PolicyEntry], version: str, *, prune: bool, by: ChangedBy) -> None:
        """Make the entries current, if the version is still this one."""

    async def replay(self, owner: Owner, entries: list[PolicyEntry], span_ms: int) -> "ReplayReport":
        """The results of the latest `span_ms` of the log that would flip if these were the owner's only policies."""

    async def warnings(self, owner: Owner, policies: list["Policy"]) -> "list[list[PolicyWarning]]":
        """The warnings about each of the owner's policies, judged with all others that govern the same agents."""

    async def agents(self) -> "list[tuple[str, FileAgent]]":
        """Every agent by its id."""

    def owners(self) -> AsyncIterator[Owner]:
        """The owner of each policy."""


class StoreSets:
    """Policy sets in the store."""

    def __init__(self, services: "Services", workspace_id: str) -> None:
        self._services = services
        self._workspace_id = workspace_id

    async def agent(self, called: str) -> tuple[str, str]:
        from app.cli.find import find_agent

        found = await find_agent(self._services, self._workspace_id, called)
        return found.id, found.name

    async def create_agent(self, agent: "FileAgent", by: ChangedBy) -> str:
        new = NewAgent(name=agent.name, description=agent.description, groups=list(agent.groups), alias=agent.alias)
        return (await self._services.admin.agents.create(self._workspace_id, new, by)).id

    async def get(self, owner: Owner) -> PolicySet:
        return await self._services.records.policy_sets.get(self._workspace_id, owner)

    async def put(self, owner: Owner, entries: list[PolicyEntry], version: str, *, prune: bool, by: ChangedBy) -> None:
        tags = frozenset({version})
        await self._services.admin.policies.put(
            self._workspace_id, owner, entries, by, lambda _: None, prune=prune, if_match=tags
        )

    async def replay(self, owner: Owner, entries: list[PolicyEntry], span_ms: int) -> "ReplayReport":
        from app.cli.replay import report_of
        from app.model.replays import ReplayTask

        to_ms = await self._services.log.audit.now_ms()
        task = ReplayTask(
            workspace_id=self._workspace_id,
            agent_id=owner.agent_id,
            group=owner.group,
            from_ms=max(0, to_ms - span_ms),
            to_ms=to_ms,
            policies=entries,
        )
        return await report_of(self._services, task)

    async def warnings(self, owner: Owner, policies: list["Policy"]) -> "list[list[PolicyWarning]]":
        return await self._services.admin.lint.about(self._workspace_id, owner, policies)

    async def agents(self) -> "list[tuple[str, FileAgent]]":
        return [(each.id, file_agent(each)) async for each in self._services.records.agents.each(self._workspace_id)]

    async def owners(self) -> AsyncIterator[Owner]:
        async for policy in self._services.records.policies.each(self._workspace_id):
            yield policy.owner


def with_sets(url: str | None, workspace: str, act: Callable[[Sets], Awaitable[T]]) -> T:
    """Run `act` against the service at `url`, or against the store if no URL is given."""
    if url is not None:
        import asyncio

        from app.cli.remote import Remote
        from app.cli.remote_policy_sets import RemoteSets

        if not os.environ.get("REMIT_API_KEY"):
            message = "REMIT_API_KEY is not set; `remit keys create --name deploy --scope policies` creates one"
            raise click.UsageError(message)
        return asyncio.run(_on(act, RemoteSets(Remote.from_env(url))))
    from app.cli.session import in_workspace

    return in_workspace(workspace, lambda services, workspace_id: act(StoreSets(services, workspace_id)))


async def _on(act: Callable[[Sets], Awaitable[T]], sets: Sets) -> T:
    return await act(sets)


async def owners_in(sets: Sets) -> list[Owner]:
    """Every owner of a policy, the workspace first."""
    found = {owner async for owner in sets.owners()}
    return sorted(found, key=lambda owner: (owner.agent_id or "", owner.group or ""))


def file_agent(agent: Any) -> "FileAgent":
    from app.policy_files.policy_file import FileAgent

    return FileAgent(name=agent.name, alias=agent.alias, description=agent.description, groups=list(agent.groups))
