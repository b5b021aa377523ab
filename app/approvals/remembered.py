"""Reads what the rules that govern an agent remember of its approved calls."""

from collections.abc import Iterator

from app.model.agents import Agent, AgentStatus
from app.model.approved_before import Remembered
from app.model.decisions import RuleRef
from app.model.memories import memory_name
from app.model.policies import Policy
from app.model.rule import Rule
from app.model.times import rfc3339
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, decoding_record, number_of
from app.store.agents import Agents
from app.store.keyspace import Keyspace


class RememberedValues:
    """What counts as approved before, of agents that are active; the commit writes it."""

    def __init__(self, client: Client, agents: Agents) -> None:
        self._client = client
        self._agents = agents

    async def of(self, workspace_id: str, agent_id: str) -> list[Remembered]:
        """The values that count now, the latest approved first. Raises AgentNotFound."""
        governed = await self._agents.load(workspace_id, agent_id)
        if governed.agent.status is not AgentStatus.ACTIVE:
            return []
        keyspace, now_ms = Keyspace(workspace_id), await store_time_ms(self._client)
        found: dict[tuple[str, str], tuple[int, Remembered]] = {}
        for memory, policy, index, rule in _memories(governed.agent, governed.policies):
            record = as_record(await self._client.call("HGETALL", keyspace.remembered(agent_id, memory)))
            with decoding_record("What a rule remembers"):
                for digest, said in record.items():
                    approved, approval_id, parameter = said.split(" ", 2)
                    approved_ms, ref = number_of(approved), RuleRef(index, rule.tag())
                    known = rule.remembered.get(parameter)
                    ends_ms = approved_ms + (0 if known is None else 1000 * known.within_seconds)
                    if approved_ms <= now_ms < ends_ms:
                        times = (rfc3339(approved_ms), rfc3339(ends_ms))
                        value = Remembered(policy.id, ref, parameter, digest, approval_id, *times)
                        found.setdefault((memory, digest), (approved_ms, value))
        return [value for _, value in sorted(found.values(), key=lambda each: -each[0])]


def _memories(agent: Agent, policies: list[Policy]) -> Iterator[tuple[str, Policy, int, Rule]]:
    for policy in policies:
        for index, rule in enumerate(policy.rules):
            if policy.enabled and (memory := memory_name(agent, policy, rule)):
                yield memory, policy, index, rule
