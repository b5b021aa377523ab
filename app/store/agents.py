"""Create, read, update and delete agents."""

import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Unpack

from msgspec.structs import replace

from app.errors import AgentNotFound, AgentRevoked, AliasTaken
from app.model.actors import ChangedBy
from app.model.agents import DEFAULT_TYPE, Agent, AgentFields, AgentStatus
from app.model.ids import Ids, uuid_of
from app.model.marks import shared_marks
from app.model.snapshots import snapshots
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply
from app.redis_client.scripts import DELETE_AGENT, FREEZE_AGENT, PUT_AGENT
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agent_records import agent_of, fields_of
from app.store.changes import change_keys, require_actor
from app.store.governed_agents import GovernedAgent, read_governed_agent
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.optimistic import ATTEMPTS, Versions, contended, overtaken, require_room, require_version
from app.store.paging import matching_records, read_page
from app.store.policy_records import bucket_keys


class Agents:
    """The agents of a workspace. Every change replaces the version token, so no stale plan is committed."""

    def __init__(self, client: Client, ids: Ids, limits: WorkspaceLimits, pool: FairThreadPool) -> None:
        self._client = client
        self._ids = ids
        self._limits = limits
        self._pool = pool

    async def create(
        self,
        workspace_id: str,
        name: str,
        description: str | None,
        groups: Sequence[str] = (),
        *,
        alias: str | None = None,
        kind: str = DEFAULT_TYPE,
        by: ChangedBy,
    ) -> Agent:
        """Create an active agent. Raises LimitReached, AliasTaken."""
        agent = Agent(
            id=self._ids.new(await store_time_ms(self._client)),
            name=name,
            description=description,
            groups=tuple(groups),
            alias=alias,
            type=kind,
            created_ms=0,
            updated_ms=0,
            version="",
        )
        for _ in range(ATTEMPTS):
            made = await self._put(workspace_id, None, agent, by)
            if made is not None:
                return made
        return contended()

    async def id_of(self, workspace_id: str, called: str) -> str:
        """The id of the agent with this id or alias. An id is returned as it is, without a look-up.

        Raises AgentNotFound if no agent has the alias.
        """
        agent_id = uuid_of(called)
        if agent_id is not None:
            return agent_id
        keyspace = Keyspace(workspace_id)
        holder: str | None = await self._client.call("HGET", keyspace.agent_aliases, called)
        if holder is None:
            raise AgentNotFound("No agent has this id or alias")
        return holder

    async def get(self, workspace_id: str, agent_id: str) -> Agent:
        """The agent as it is now. Raises AgentNotFound."""
        record = as_record(await self._client.call("HGETALL", Keyspace(workspace_id).agent(agent_id)))
        if not record:
            raise AgentNotFound("No agent has this id or alias")
        return agent_of(record)

    async def each(
        self,
        workspace_id: str,
        limit: int | None = None,
        offset: int = 0,
        *,
        alias: str | None = None,
        name: str | None = None,
        status: AgentStatus | None = None,
    ) -> AsyncIterator[Agent]:
        """Yield the workspace's agents, oldest first, that match the given filters."""
        keyspace = Keyspace(workspace_id)
        filters = {"alias": alias, "name": name, "status": status}
        wanted = {field: (str(value),) for field, value in filters.items() if value is not None}
        if alias is not None:
            holder = await self._client.call("HGET", keyspace.agent_aliases, alias)
            ids = [] if holder is None else [holder]
        else:
            ids = await read_page(self._client, keyspace.agents, None if wanted else limit, 0 if wanted else offset)
        skipped, left = offset if wanted else 0, limit
        # Only the records have names and states. Reading these fields of each takes a tenth of reading it whole.
        async for records in matching_records(self._client, keyspace.agent, ids, wanted):
            for record in records:
                if skipped:
                    skipped -= 1
                    continue
                yield agent_of(record)
                left = None if left is None else left - 1
                if left == 0:
                    return

    async def update(
        self,
        workspace_id: str,
        agent_id: str,
        *,
        forgets: bool = False,
        if_match: Versions = None,
        by: ChangedBy,
        **changes: Unpack[AgentFields],
    ) -> Agent:
        """The agent with these changes; without any, the agent unchanged.

        forgets: nothing that people have approved for it so far counts as approved before.
        Raises AgentNotFound; VersionConflict; AliasTaken; AgentRevoked on any attempt to reactivate a revoked agent.
        """
        for _ in range(ATTEMPTS):
            agent = await self.get(workspace_id, agent_id)
            # The script relies on this check: it writes only while the version token is still the one read here.
            require_version(agent.revision, if_match)
            if not changes and not forgets:
                return agent
            updated = replace(agent, **changes)
            if agent.status is AgentStatus.REVOKED and updated.status is not agent.status:
                raise AgentRevoked("A revoked agent stays revoked; create another agent")
            if forgets:
                updated = replace(updated, remembers_since=agent.revision + 1)
            if updated.status is not agent.status:
                updated = _with_status_changed(agent, updated)
            changed = await self._put(workspace_id, agent, updated, by)
            if changed is not None:
                return changed
        return contended()

    async def delete(self, workspace_id: str, agent_id: str, *, if_match: Versions = None, by: ChangedBy) -> None:
        """Delete the agent, its policies and its quotas; its audit entries stay.

        Raises AgentNotFound, VersionConflict.
        """
        keyspace = Keyspace(workspace_id)
        require_version((await self.get(workspace_id, agent_id)).revision, if_match)
        for _ in range(ATTEMPTS):
            # Without this freeze, a client that keeps editing the policies could overtake every attempt to delete.
            frozen = [keyspace.key(by.actor.id), keyspace.agent(agent_id)]
            require_actor(check_reply(FREEZE_AGENT, await self._client.run(FREEZE_AGENT, frozen, [by.actor.id]))[0])
            governed = await self.load(workspace_id, agent_id)
            agent, policies = governed.agent, [each for each in governed.policies if each.agent_id == agent_id]
            require_version(agent.revision, if_match)
            kept = (keyspace.policy, keyspace.policy_versions, keyspace.divergence)
            records = [name(policy.id) for policy in policies for name in kept]
            records += [name for policy in policies for name in sorted(bucket_keys(keyspace, policy))]
            keys = [
                *change_keys(keyspace, by.actor),
                keyspace.agent(agent_id),
                keyspace.agents,
                keyspace.agent_policies(agent_id),
                keyspace.policies,
                keyspace.agent_aliases,
                keyspace.commits,
                keyspace.marks,
                *records,
            ]
            marks = sorted(mark for each in policies for mark in shared_marks(each))
            args: list[Value] = [by.actor.id, snapshots(agent, None)[0], agent.version, agent_id, by.reason]
            args += ["\n".join(marks), secrets.token_hex(16)]
            for policy in policies:
                args += (policy.id, snapshots(policy, None)[0])
            status = check_reply(DELETE_AGENT, await self._client.run(DELETE_AGENT, keys, args))[0]
            require_actor(status)
            if status == "done":
                return
        contended()

    async def load(self, workspace_id: str, called: str) -> GovernedAgent:
        """The agent and every policy that governs it, read at one moment.

        called: its id, or the alias it has at that moment. Raises AgentNotFound.
        """
        for _ in range(ATTEMPTS):
            governed = await read_governed_agent(
                self._client, workspace_id, await self.id_of(workspace_id, called), self._pool
            )
            if called == governed.agent.alias or uuid_of(called) is not None:
                return governed
        return contended()

    async def _put(self, workspace_id: str, current: Agent | None, agent: Agent, by: ChangedBy) -> Agent | None:
        """Store the agent and return it; None if the stored one is no longer `current`."""
        keyspace = Keyspace(workspace_id)
        version = secrets.token_hex(16)
        expected = 0 if current is None else current.revision
        before, after = snapshots(current, replace(agent, revision=1 if current is None else current.revision + 1))
        holder_id = None
        if agent.alias is not None:
            holder_id = await self._client.call("HGET", keyspace.agent_aliases, agent.alias)
        keys = [
            *change_keys(keyspace, by.actor),
            keyspace.agent(agent.id),
            keyspace.agents,
            keyspace.commits,
            keyspace.agent_aliases,
            keyspace.agent(holder_id or agent.id),
        ]
        active = int(agent.status is AgentStatus.ACTIVE)
        args: list[Value] = [by.actor.id, before, after, expected, version, agent.id, self._limits.agents, active]
        args += [agent.alias or "", holder_id or "", by.reason, *fields_of(agent)]
        status, created_ms, updated_ms, revision = check_reply(PUT_AGENT, await self._client.run(PUT_AGENT, keys, args))
        require_actor(status)
        require_room(status, "workspace", "agents", self._limits.agents)
        if status == "taken":
            raise AliasTaken(f'Another agent has the alias "{agent.alias}"; choose another, or take it from that one')
        if await overtaken(status):
            return None
        return replace(agent, created_ms=created_ms, updated_ms=updated_ms, revision=revision, version=version)


def _with_status_changed(agent: Agent, updated: Agent) -> Agent:
    """`updated`, with the revision since which it is active and without the breaker that suspended it."""
    is_resumed = updated.status is AgentStatus.ACTIVE
    return replace(updated, tripped=None, active_since=agent.revision + 1 if is_resumed else agent.active_since)
