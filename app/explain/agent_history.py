"""Finds the policies that governed an agent at a past time: the present state with every later change undone.

The trail records every change together with the newest audit entry at that moment. So the result is exact, even for a
decision and a change within the same millisecond.
"""

from collections import Counter

import msgspec

from app.errors import AgentNotFound, VersionNotKept
from app.model.agents import Agent, group_digest
from app.model.changes import Change, ChangeKind, ResourceType
from app.model.past_states import Past
from app.model.policies import Owner, Policy
from app.redis_client.client import Client
from app.redis_client.replies import as_record
from app.replay.spans import LogPosition, since_of
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agent_records import agent_of
from app.store.changes import change_of, read_back
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, contended
from app.store.policy_records import policies_of

_Records = list[dict[str, str]]


class AgentHistory:
    """The past agents and policies of a store.

    kept: how many versions of each policy can be restored.
    """

    def __init__(self, client: Client, kept: int, pool: FairThreadPool) -> None:
        self._client = client
        self._kept = kept
        self._pool = pool

    async def governed_at(self, workspace_id: str, agent_id: str, entry: LogPosition) -> tuple[Agent, list[Policy]]:
        """The agent and every policy that governed it: its own, its groups' and the workspace's.

        The times of their changes and activations are left out. Raises AgentNotFound, VersionNotKept.
        """
        keyspace = Keyspace(workspace_id)
        groups: frozenset[str] = frozenset()
        for _ in range(ATTEMPTS):
            agents, policies, newest = await read_present(self._client, keyspace, agent_id, groups)
            groups = groups.union(*(agent.groups for agent in agents))
            past = Past(agents, await policies_of(policies, self._pool, workspace_id))
            walk = _Walk(agent_id, past, groups, self._kept)
            if newest is not None:
                async for change_id, record in read_back(self._client, keyspace, newest):
                    if record is None:
                        continue
                    change = change_of(change_id, record)
                    if since_of(change).holds_for(entry):
                        break
                    walk.undo(change)
            if walk.groups == groups:
                return await self._pool.run(workspace_id, walk.governed)
            groups = walk.groups  # the policies of these groups are needed, too
        return contended()


async def read_present(
    client: Client, keyspace: Keyspace, agent_id: str, groups: frozenset[str]
) -> tuple[list[Agent], _Records, str | None]:
    """The agent, every policy that may govern it, and the newest change, as one snapshot.

    groups: former groups of the agent, in addition to its current ones.
    """
    expected: list[str] = []
    for _ in range(ATTEMPTS):
        indexes = [keyspace.agent_policies(agent_id), keyspace.workspace_policies]
        indexes += [keyspace.group_policies(group_digest(name)) for name in sorted(groups)]
        record, newest, *rest = await client.read_snapshot(
            ("HGETALL", keyspace.agent(agent_id)),
            ("XREVRANGE", keyspace.changes, "+", "-", "COUNT", 1),
            *(("ZRANGE", index, 0, -1) for index in indexes),
            *(("HGETALL", keyspace.policy(policy_id)) for policy_id in expected),
        )
        agents = [agent_of(as_record(record))] if record else []
        missing = {name for agent in agents for name in agent.groups} - groups
        ids = [policy_id for index in rest[: len(indexes)] for policy_id in index]
        if not missing and sorted(ids) == sorted(expected):
            records = [as_record(each) for each in rest[len(indexes) :]]
            return agents, records, newest[0][0] if newest else None
        groups, expected = groups | missing, ids
    return contended()


class _Walk:
    """Undoes the changes that concern one agent. groups: every group the agent was in at any step so far."""

    def __init__(self, agent_id: str, past: Past, groups: frozenset[str], kept: int) -> None:
        self.groups = groups
        self._agent_id = agent_id
        self._past = past
        self._versions = Counter(list(past.policies))
        self._kept = kept
        self._join()

    def undo(self, change: Change) -> None:
        """Undo the change. Raises VersionNotKept if its policy has changed too often since."""
        if change.resource_type is ResourceType.AGENT and change.resource_id == self._agent_id:
            self._past.undo(change)
            self._join()
        elif change.resource_type is ResourceType.POLICY and self._may_govern(change):
            self._past.undo(change)
            self._versions[change.resource_id] += 1
            if change.kind is not ChangeKind.CREATED and self._versions[change.resource_id] > self._kept:
                raise VersionNotKept(
                    "The policies of that time are no longer kept: one of them has changed too often since"
                )

    def governed(self) -> tuple[Agent, list[Policy]]:
        """The agent and the policies that govern it after these steps. Raises AgentNotFound."""
        agent = self._agent()
        if agent is None:
            raise AgentNotFound("No agent has this id, or had it then")
        policies = [policy.get() for policy in self._past.policies.values()]
        return agent, [policy for policy in policies if policy.owner.governs(self._agent_id, agent.groups)]

    def _agent(self) -> Agent | None:
        state = self._past.agents.get(self._agent_id)
        return None if state is None else state.get()

    def _join(self) -> None:
        agent = self._agent()
        self.groups = self.groups.union(agent.groups if agent else ())

    def _may_govern(self, change: Change) -> bool:
        """True if the policy may govern the agent, by itself or through a group it was in."""
        if change.kind is not ChangeKind.DELETED:
            return change.resource_id in self._past.policies
        return msgspec.json.decode(change.before, type=Owner).governs(self._agent_id, self.groups)
