"""Limits on an agent's policies, because the store processes their rate limits in one step."""

import asyncio
import random

import msgspec
import pytest
from fake_store import FakeClient

from app.errors import AppError, LimitReached
from app.model.counting import rate_limit_count
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.quotas import RateLimit
from app.model.rules import RateLimited, ToolAllowlist
from app.redis_client.clients import open_client
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from tests.support import parts
from tests.support.actors import BY

LIMIT = RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=5, window_seconds=60))
OTHER = ToolAllowlist(tools=["*"])
MAX = 10
LOW = WorkspaceLimits(rate_limits_per_agent=MAX)


def rules(limits):
    """A policy's rules, this many of them rate limits."""
    return [OTHER, *[LIMIT] * limits]


@pytest.fixture
def agents(client, ids):
    return parts.agents(client, ids, LOW)


@pytest.fixture
def policies(client, ids):
    return parts.policies(client, ids, LOW)


@pytest.fixture
async def agent_id(agents, workspace_id):
    return (await agents.create(workspace_id, "a", None, by=BY)).id


@pytest.fixture
async def other_replica(request, client, ids):
    """Policies over another connection to the same store."""
    if isinstance(client, FakeClient):
        yield parts.policies(client, ids, LOW)
        return
    store = request.getfixturevalue(f"{request.node.callspec.params['client']}_store")
    another = open_client(store.url, 5_000)
    yield parts.policies(another, ids, LOW)
    await another.close()


@pytest.fixture
def held(policies, workspace_id, agent_id):
    """How many rate limits the agent's policies have."""

    async def look():
        return sum([rate_limit_count(each.rules) async for each in policies.each(workspace_id, Owner(agent_id))])

    return look


async def test_resources_above_a_lowered_limit_can_be_changed_but_not_grow(
    client, ids, policies, workspace_id, agent_id
):
    """Nothing becomes read-only."""
    policy = await parts.policies(client, ids).create(
        workspace_id, Owner(agent_id), PolicyFields(name="p", rules=rules(12)), by=BY
    )
    assert (await policies.update(workspace_id, policy.id, PolicyChanges(priority=7), by=BY)).priority == 7
    assert len((await policies.update(workspace_id, policy.id, PolicyChanges(rules=rules(11)), by=BY)).rules) == 12
    with pytest.raises(LimitReached):
        await policies.update(workspace_id, policy.id, PolicyChanges(rules=rules(12)), by=BY)


async def test_the_rules_of_an_agent_are_no_longer_than_they_may_be(client, ids, agents, workspace_id, agent_id):
    """Whatever they contain; replacing and deleting makes room, and changing the agent loses no count."""
    size = len(msgspec.json.encode(rules(0)))
    policies = parts.policies(client, ids, WorkspaceLimits(rules_bytes_per_agent=3 * size))
    one, other, _ = [
        await policies.create(workspace_id, Owner(agent_id), PolicyFields(name="p", rules=rules(0)), by=BY)
        for _ in range(3)
    ]
    longer = (ToolAllowlist(tools=["file.*"]),)
    with pytest.raises(LimitReached, match=f"The rules of one agent's policies may have {3 * size} bytes"):
        await policies.create(workspace_id, Owner(agent_id), PolicyFields(name="q", rules=rules(0)), by=BY)
    with pytest.raises(LimitReached):
        await policies.update(workspace_id, one.id, PolicyChanges(rules=longer), by=BY)
    assert (await policies.update(workspace_id, one.id, PolicyChanges(priority=7), by=BY)).priority == 7

    await policies.delete(workspace_id, other.id, by=BY)
    await agents.update(workspace_id, agent_id, name="b", by=BY)
    await policies.update(workspace_id, one.id, PolicyChanges(rules=longer), by=BY)
    with pytest.raises(LimitReached):
        await policies.create(workspace_id, Owner(agent_id), PolicyFields(name="q", rules=rules(0)), by=BY)
    await policies.update(workspace_id, one.id, PolicyChanges(rules=rules(0)), by=BY)
    await policies.create(workspace_id, Owner(agent_id), PolicyFields(name="q", rules=rules(0)), by=BY)


async def test_rules_that_were_too_long_already_can_be_changed_and_made_shorter(client, ids, workspace_id, agent_id):
    """Lowered limits and records older than the counts make nothing read-only."""
    policy = await parts.policies(client, ids).create(
        workspace_id, Owner(agent_id), PolicyFields(name="p", rules=rules(5)), by=BY
    )
    keyspace = Keyspace(workspace_id)
    for name in (keyspace.agent(agent_id), keyspace.policy(policy.id)):
        await client.call("HDEL", name, "rules_bytes")
    low = parts.policies(client, ids, WorkspaceLimits(rules_bytes_per_agent=1))
    await low.update(workspace_id, policy.id, PolicyChanges(name="q"), by=BY)
    await low.update(workspace_id, policy.id, PolicyChanges(rules=rules(4)), by=BY)
    with pytest.raises(LimitReached):
        await low.update(workspace_id, policy.id, PolicyChanges(rules=rules(5)), by=BY)


async def test_the_count_is_right_whatever_two_replicas_did(
    client, policies, other_replica, workspace_id, agent_id, held
):
    """Concurrent creations, changes and deletions of the same policies."""
    chance = random.Random(1)
    made = [
        await policies.create(workspace_id, Owner(agent_id), PolicyFields(name="p", rules=rules(1)), by=BY)
        for _ in range(4)
    ]

    async def change():
        replica, policy = chance.choice((policies, other_replica)), chance.choice(made)
        match chance.randrange(4):
            case 0:
                made.append(
                    await replica.create(
                        workspace_id, Owner(agent_id), PolicyFields(name="p", rules=rules(chance.randrange(4))), by=BY
                    )
                )
            case 1:
                await replica.delete(workspace_id, policy.id, by=BY)
            case _:
                await replica.update(workspace_id, policy.id, PolicyChanges(rules=rules(chance.randrange(6))), by=BY)

    for _ in range(8):
        ended = await asyncio.gather(*(change() for _ in range(8)), return_exceptions=True)
        assert all(each is None or isinstance(each, AppError) for each in ended), ended
        record = Keyspace(workspace_id).agent(agent_id)
        assert int(await client.call("HGET", record, "rate_limits")) == await held() <= MAX
        there = [each async for each in policies.each(workspace_id, Owner(agent_id))]
        rules_bytes = sum(len(msgspec.json.encode(each.rules)) for each in there)
        assert int(await client.call("HGET", record, "rules_bytes")) == rules_bytes
