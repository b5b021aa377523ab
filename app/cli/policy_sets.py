"""Where `remit policy` finds sets of policies: in the store, or in a running service over HTTP."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote

import click
import msgspec
from msgspec import Struct

from app.cli.remote import Remote
from app.errors import AgentNotFound, Invalid
from app.model.ids import canonical_uuid
from app.model.policy_sets import AppliedSet, PolicyChange, PolicyEntry, PolicySet, entry_of
from app.model.times import parse_time_ms, rfc3339

if TYPE_CHECKING:
    from app.lint import PolicyWarning
    from app.model.policies import Policy
    from app.model.replays import ReplayReport
    from app.policy_files.policy_file import FileAgent
    from app.replica import Services

T = TypeVar("T")


class Owner(Struct, frozen=True):
    """Whose policies: an agent's ("" = one that is to be made), a group's or, with neither, the workspace's."""

    agent_id: str | None
    group: str | None

    @property
    def is_new(self) -> bool:
        return self.agent_id == ""


class Sets(Protocol):
    """Reads and writes sets of one workspace."""

    async def agent(self, called: str) -> tuple[str, str]:
        """Id and name of the agent with this id, this alias or, if only one has it, this name.

        Raises AgentNotFound, Invalid.
        """

    async def create_agent(self, agent: "FileAgent", reason: str) -> str:
        """The id of a new agent."""

    async def get(self, owner: Owner) -> PolicySet: ...

    async def put(
        self, owner: Owner, entries: list[PolicyEntry], version: str, *, prune: bool, reason: str
    ) -> AppliedSet:
        """The entries are current, if the version is still this one."""

    async def replay(self, owner: Owner, entries: list[PolicyEntry], span_ms: int) -> "ReplayReport":
        """Which results of the log's calls, of the latest `span_ms`, would flip if these were all of its policies."""

    async def warnings(self, owner: Owner, policies: list["Policy"]) -> "list[list[PolicyWarning]]":
        """For each of the owner's policies what is probably not meant, beside all that governs the same agents."""

    async def agents(self) -> "list[tuple[str, FileAgent]]":
        """Every agent by its id."""

    def policies(self) -> "AsyncIterator[tuple[str | None, str | None]]":
        """Of each policy the agent's id and the group."""


class StoreSets:
    """The sets that the store holds."""

    def __init__(self, services: "Services", workspace_id: str) -> None:
        self._services = services
        self._workspace_id = workspace_id

    async def agent(self, called: str) -> tuple[str, str]:
        from app.cli.find import find_agent

        found = await find_agent(self._services, self._workspace_id, called)
        return found.id, found.name

    async def create_agent(self, agent: "FileAgent", reason: str) -> str:
        agents = self._services.agents
        made = await agents.create(
            self._workspace_id, agent.name, agent.description, agent.groups, alias=agent.alias, reason=reason
        )
        return made.id

    async def get(self, owner: Owner) -> PolicySet:
        return await self._services.policy_sets.get(self._workspace_id, owner.agent_id, owner.group)

    async def put(
        self, owner: Owner, entries: list[PolicyEntry], version: str, *, prune: bool, reason: str
    ) -> AppliedSet:
        sets = self._services.policy_sets
        whose = (owner.agent_id, owner.group)
        tags = frozenset({version})
        return await sets.put(self._workspace_id, entries, *whose, prune=prune, if_match=tags, reason=reason)

    async def replay(self, owner: Owner, entries: list[PolicyEntry], span_ms: int) -> "ReplayReport":
        from app.cli.replay import report_of
        from app.model.replays import ReplayTask

        to_ms = await self._services.audit.now_ms()
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
        from app.linting import warnings_about

        return await warnings_about(self._services, self._workspace_id, policies, owner.agent_id, owner.group)

    async def agents(self) -> "list[tuple[str, FileAgent]]":
        return [(each.id, _file_agent(each)) async for each in self._services.agents.each(self._workspace_id)]

    async def policies(self) -> "AsyncIterator[tuple[str | None, str | None]]":
        async for each in self._services.policies.each(self._workspace_id):
            yield each.agent_id, each.group


class RemoteSets:
    """The sets of the workspace of REMIT_API_KEY, over HTTP."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def agent(self, called: str) -> tuple[str, str]:
        if (agent_id := canonical_uuid(called)) is not None:
            found = self._remote.call("GET", f"/v1/agents/{agent_id}")
            return found["id"], found["name"]
        agents = await self.agents()
        named = [(agent_id, agent.name) for agent_id, agent in agents if agent.alias == called]
        named = named or [(agent_id, agent.name) for agent_id, agent in agents if agent.name == called]
        if not named:
            raise AgentNotFound(f'No agent is called "{called}"; `remit agents list` shows all of them')
        if len(named) > 1:
            raise Invalid(f'{len(named)} agents are called "{called}"; say which by its id')
        return named[0]

    async def create_agent(self, agent: "FileAgent", reason: str) -> str:
        return str(self._remote.call("POST", "/v1/agents", msgspec.to_builtins(agent), reason=reason)["id"])

    async def get(self, owner: Owner) -> PolicySet:
        return _set_of(self._remote.call("GET", _path(owner)))

    async def put(
        self, owner: Owner, entries: list[PolicyEntry], version: str, *, prune: bool, reason: str
    ) -> AppliedSet:
        query = "?prune=true" if prune else ""
        body = {"policies": _bodies(entries), "version": version}
        answer = self._remote.call("PUT", f"{_path(owner)}{query}", body, reason=reason)
        by_id = {each.id: each for each in _set_of(answer).policies}
        changes = [PolicyChange(None, by_id[each]) for each in answer["created"]]
        return AppliedSet(_set_of(answer), changes)

    async def replay(self, owner: Owner, entries: list[PolicyEntry], span_ms: int) -> "ReplayReport":
        from app.cli.replay import BROKEN_OFF, reported
        from app.cli.session import progress_bar
        from app.model.replays import ReplayLine

        to_ms = time.time_ns() // 1_000_000
        asked = {"agent_id": owner.agent_id, "group": owner.group, "policies": _bodies(entries)}
        span = {"from": rfc3339(max(0, to_ms - span_ms)), "to": rfc3339(to_ms)}
        with progress_bar("replaying") as progress:
            for each in self._remote.lines("/v1/replay", asked | span):
                line = msgspec.json.decode(each, type=ReplayLine)
                if isinstance(line.error, str):
                    raise click.ClickException(line.error)
                if (report := reported(line, progress)) is not None:
                    return report
        raise click.ClickException(BROKEN_OFF)

    async def warnings(self, owner: Owner, policies: list["Policy"]) -> "list[list[PolicyWarning]]":
        from app.lint import PolicyWarning

        found: list[list[PolicyWarning]] = [[] for _ in policies]
        body = {"agent_id": owner.agent_id, "group": owner.group, "policies": _bodies(list(map(entry_of, policies)))}
        for each in self._remote.call("POST", "/v1/policies/lint", body)["warnings"]:
            place, path = _placed(each["path"])
            found[place].append(msgspec.convert(each | {"path": path}, PolicyWarning))
        return found

    async def agents(self) -> "list[tuple[str, FileAgent]]":
        from app.views.agents import AgentView

        found = msgspec.convert(self._remote.call("GET", "/v1/agents"), list[AgentView])
        return [(each.id, _file_agent(each)) for each in found]

    async def policies(self) -> "AsyncIterator[tuple[str | None, str | None]]":
        for each in self._remote.call("GET", "/v1/policies"):
            yield each["agentId"], each["group"]


def with_sets(url: str | None, workspace: str, act: Callable[[Sets], Awaitable[T]]) -> T:
    """What `act` gives with the sets of the service at the URL or, without one, of the store."""
    if url is not None:
        import asyncio

        if not os.environ.get("REMIT_API_KEY"):
            message = "REMIT_API_KEY is not set; `remit keys create --name deploy --scope policies` makes a key for it"
            raise click.UsageError(message)
        return asyncio.run(_on(act, RemoteSets(Remote.from_env(url))))
    from app.cli.session import with_services

    async def run(services: "Services") -> T:
        return await act(StoreSets(services, await services.workspaces.find(workspace)))

    return with_services(run)


async def _on(act: Callable[[Sets], Awaitable[T]], sets: Sets) -> T:
    return await act(sets)


def _path(owner: Owner) -> str:
    if owner.agent_id is not None:
        return f"/v1/agents/{owner.agent_id}/policies"
    return "/v1/workspace/policies" if owner.group is None else f"/v1/groups/{quote(owner.group, safe='')}/policies"


async def owners_in(sets: Sets) -> list[Owner]:
    """Everybody who has a policy, the workspace first."""
    found = {each async for each in sets.policies()}
    return [Owner(*each) for each in sorted(found, key=lambda each: (each[0] or "", each[1] or ""))]


def _placed(path: str) -> tuple[int, str]:
    """`$.policies[2].rules[0]` as the policy's place and what is below it."""
    place, _, below = path.removeprefix("$.policies[").partition("]")
    return int(place), f"${below}"


def _bodies(entries: list[PolicyEntry]) -> list[dict[str, Any]]:
    return [{name: value for name, value in msgspec.to_builtins(each).items() if value is not None} for each in entries]


def _file_agent(agent: Any) -> "FileAgent":
    from app.policy_files.policy_file import FileAgent

    return FileAgent(name=agent.name, alias=agent.alias, description=agent.description, groups=list(agent.groups))


def _set_of(answer: Any) -> PolicySet:
    from app.views.policies import PolicyView

    shown = msgspec.convert(answer["policies"], list[PolicyView])
    return PolicySet(answer["version"], [_policy_of(each) for each in shown])


def _policy_of(shown: Any) -> "Policy":
    from app.model.policies import Policy

    fields = {name: getattr(shown, name) for name in Policy.__struct_fields__ if hasattr(shown, name)}
    times = {"created_ms": parse_time_ms(shown.created_at), "updated_ms": parse_time_ms(shown.updated_at)}
    return Policy(**fields | times | {"rules": tuple(shown.rules)})
