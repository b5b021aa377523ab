"""What governed an agent at a past time: the present state with every later change undone.

The trail records every change together with the newest audit entry at that moment. So the result is exact, even for a
decision and a change within the same millisecond.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from app.errors import AgentNotFound, VersionNotKept
from app.fair_pool import FairPool
from app.model.agents import Agent, group_digest
from app.model.policies import Policy
from app.redis_client.client import Client
from app.redis_client.replies import as_record
from app.store.agent_records import agent_of
from app.store.changes import change_time_ms, read_back
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, contended
from app.store.past_records import undone
from app.store.policy_records import policies_of

Record = dict[str, str]


class Moment(Struct, frozen=True):
    """A time in the past: that of an audit entry, if its sequence is known.

    sequence: the entry's. Changes that do not record the newest entry are compared by `time_ms`.
    """

    time_ms: int
    sequence: int | None = None

    def follows(self, change_id: str, change: Record) -> bool:
        """Whether the change was made before this moment."""
        if self.sequence is not None and "sequence" in change:
            return int(change["sequence"]) < self.sequence
        return change_time_ms(change_id) <= self.time_ms


class Period(Struct, frozen=True):
    """A span of time in which nothing that governs an agent changed.

    change_id, change: the change it begins with; None and {} for the period in which the history begins.
    agent, policies: their records; agent is empty if it did not exist.
    """

    change_id: str | None
    change: Record
    agent: Record
    policies: tuple[Record, ...]


class History(Struct, frozen=True):
    """The periods since a moment, newest first. is_whole: False if too many changes lie between."""

    periods: tuple[Period, ...]
    is_whole: bool

    def at(self, moment: Moment) -> Period:
        """The period that contains the moment. Raises AgentNotFound if the agent did not exist then, VersionNotKept."""
        for period in self.periods:
            if period.change_id is None or moment.follows(period.change_id, period.change):
                if not period.agent:
                    raise AgentNotFound("No agent had this id then")
                return period
        raise VersionNotKept("The policies of that time are no longer kept: one of them has changed too often since")


class PolicyHistory:
    """The history of an agent and of every policy that governs it.

    kept: how many versions of each policy can be restored.
    """

    def __init__(self, client: Client, kept: int, pool: FairPool | None = None) -> None:
        self._client = client
        self._kept = kept
        self._pool = pool or FairPool()

    async def governed_at(self, workspace_id: str, agent_id: str, moment: Moment) -> tuple[Agent, list[Policy]]:
        """The agent and every policy that governed it: its own, its groups' and the workspace's.

        Raises AgentNotFound, VersionNotKept.
        """
        return await self.read(workspace_id, (await self.since(workspace_id, agent_id, moment)).at(moment))

    async def read(self, workspace_id: str, period: Period) -> tuple[Agent, list[Policy]]:
        """The agent and policies of a period, except for the times at which they changed or became active."""
        return agent_of(period.agent), await policies_of(period.policies, self._pool, workspace_id)

    async def since(self, workspace_id: str, agent_id: str, moment: Moment) -> History:
        """What has governed the agent since then, from the changes of the workspace.

        Raises AgentNotFound if the agent neither exists nor was deleted since then.
        """
        keyspace = Keyspace(workspace_id)
        groups: frozenset[str] = frozenset()
        for _ in range(ATTEMPTS):
            agent, policies, newest = await self._present(keyspace, agent_id, groups)
            walk = _Walk(agent_id, agent, policies, groups, self._kept)
            if newest is not None:
                async for change_id, change in read_back(self._client, keyspace, newest):
                    if moment.follows(change_id, change) or not walk.undo(change_id, change):
                        break
            if walk.groups == groups:
                history = walk.history()
                if not any(period.agent for period in history.periods):
                    raise AgentNotFound("No agent has this id, or had it then")
                return history
            groups = walk.groups  # the policies of these groups are needed, too
        return contended()

    async def _present(
        self, keyspace: Keyspace, agent_id: str, groups: frozenset[str]
    ) -> tuple[Record, dict[str, Record], str | None]:
        """The agent, its policies, its groups' and the workspace's, and the newest change, read at one moment."""
        indexes = [keyspace.agent_policies(agent_id), keyspace.workspace_policies]
        indexes += [keyspace.group_policies(group_digest(name)) for name in sorted(groups)]
        expected: list[str] = []
        for _ in range(ATTEMPTS):
            agent, newest, *rest = await self._client.read_snapshot(
                ("HGETALL", keyspace.agent(agent_id)),
                ("XREVRANGE", keyspace.changes, "+", "-", "COUNT", 1),
                *(("ZRANGE", index, 0, -1) for index in indexes),
                *(("HGETALL", keyspace.policy(policy_id)) for policy_id in expected),
            )
            ids = [policy_id for index in rest[: len(indexes)] for policy_id in index]
            if sorted(ids) == sorted(expected):
                records = map(as_record, rest[len(indexes) :])
                return as_record(agent), dict(zip(expected, records, strict=True)), newest[0][0] if newest else None
            expected = ids
        return contended()


class _Walk:
    """Steps back through the changes. groups: every group the agent was in at any step so far."""

    def __init__(
        self, agent_id: str, agent: Record, policies: dict[str, Record], groups: frozenset[str], kept: int
    ) -> None:
        self.periods: list[Period] = []
        self.groups = groups
        self._agent_id, self._agent, self._policies = agent_id, agent, policies
        self._known = dict.fromkeys(policies, 1)
        self._kept = kept
        self._is_whole = True
        self._join()

    def undo(self, change_id: str, change: Record) -> bool:
        """Undo the change; False where the history ends because a policy has changed too often."""
        resource_id = change["resourceId"]
        if change["resourceType"] == "agent" and resource_id == self._agent_id:
            self._begin(change_id, change)
            self._agent = undone(self._agent, change)
            self._join()
            return True
        held = self._policies.get(resource_id, {})
        if change["resourceType"] != "policy" or not (held or change["kind"] == "deleted"):
            return True
        was = undone(held, change)
        if not held and not self._may_govern(was):
            return True
        self._known[resource_id] = self._known.get(resource_id, 0) + 1
        if was and self._known[resource_id] > self._kept:
            self._is_whole = False
        else:
            self._begin(change_id, change)
            others = {name: each for name, each in self._policies.items() if name != resource_id}
            self._policies = others | {resource_id: was} if was else others
        return self._is_whole

    def history(self) -> History:
        """The history found so far."""
        if self._is_whole:
            self._begin(None, {})
        return History(tuple(self.periods), self._is_whole)

    def _begin(self, change_id: str | None, change: Record) -> None:
        groups = self._groups()
        governing = (each for each in self._policies.values() if self._governs(each, groups))
        self.periods.append(Period(change_id, change, self._agent, tuple(governing) if self._agent else ()))

    def _join(self) -> None:
        self.groups = self.groups.union(self._groups())

    def _groups(self) -> Sequence[str]:
        return agent_of(self._agent).groups if self._agent else ()

    def _may_govern(self, policy: Record) -> bool:
        """Whether the policy governs the agent through a group it was in."""
        return self._governs(policy, self.groups)

    def _governs(self, policy: Record, groups: Collection[str]) -> bool:
        if policy.get("agent_id"):
            return policy["agent_id"] == self._agent_id
        return not policy.get("group") or policy["group"] in groups
