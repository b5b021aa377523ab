"""Agents with everything that governs them, each read at one moment."""

import time

from msgspec import Struct

from app.errors import AgentNotFound
from app.model.agents import Agent, group_digest
from app.model.marks import longest_shared
from app.model.plans import Tokens
from app.model.policies import Policy
from app.redis_client.client import Client
from app.redis_client.replies import ForeignData, as_record, decoding_record
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agent_records import agent_of
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, contended
from app.store.policy_owners import WORKSPACE_TOKEN, group_token
from app.store.policy_records import policies_of


class GovernedAgent(Struct, frozen=True):
    """An agent with every policy that governs it: the agent's, its groups' and its workspace's.

    tokens: the version tokens of all of these; while no token has changed, nothing here has.
    shared_marks: the tool patterns that any rule of the workspace names in `forbiddenAfter`, each with the
    seconds that it looks back.
    decoding_s: CPU time of the loop while its policies were decoded, in seconds.
    """

    agent: Agent
    policies: list[Policy]
    tokens: Tokens
    shared_marks: dict[str, int] = {}
    decoding_s: float = 0.0


async def read_governed_agent(client: Client, workspace_id: str, agent_id: str, pool: FairThreadPool) -> GovernedAgent:
    """The agent and every policy that governs it, read at one moment. Raises AgentNotFound."""
    keyspace = Keyspace(workspace_id)
    digests: list[str] = []
    expected: list[str] = []
    for _ in range(ATTEMPTS):
        # All of this is read at one moment, so it is consistent if the groups and policies are the expected ones. Edits
        # do not change which ones those are, so three attempts suffice, however many edits there are.
        indexes = [keyspace.agent_policies(agent_id), keyspace.workspace_policies]
        indexes += [keyspace.group_policies(digest) for digest in digests]
        record, marks, shared, *replies = await client.read_snapshot(
            ("HGETALL", keyspace.agent(agent_id)),
            ("HKEYS", keyspace.marks),
            ("HMGET", keyspace.commits, WORKSPACE_TOKEN, *map(group_token, digests)),
            *(("ZRANGE", index, 0, -1) for index in indexes),
            *(("HGETALL", keyspace.policy(policy_id)) for policy_id in expected),
        )
        agent_fields = as_record(record)
        if not agent_fields:
            raise AgentNotFound("No agent has this id or alias")
        agent = agent_of(agent_fields)
        group_digests = [group_digest(name) for name in agent.groups]
        ids = [policy_id for index in replies[: len(indexes)] for policy_id in index]
        if group_digests == digests and sorted(ids) == sorted(expected):
            workspace, *groups = (token or "" for token in shared)
            tokens = Tokens(agent.version, workspace, tuple(zip(digests, groups, strict=True)))
            records = list(map(as_record, replies[len(indexes) :]))
            # Quotas are found by the id in the record, so it must be the one in the key.
            if [each.get("id") for each in records] != expected:
                raise ForeignData("A policy's record in the store has another policy's id; nothing was done")
            began = time.thread_time()
            policies = await policies_of(records, pool, workspace_id)
            spent = time.thread_time() - began
            with decoding_record("The list of what sequence rules look back on"):
                return GovernedAgent(agent, policies, tokens, longest_shared(marks), spent)
        digests, expected = group_digests, ids
    return contended()
