"""Agents in the store."""

import asyncio
import itertools

import pytest
from commit_scene import Scene, everything, quota
from msgspec.structs import replace

from app.errors import AgentNotFound, PolicyNotFound, VersionConflict
from app.model.agents import AgentStatus
from app.model.counting import quota_fingerprints
from app.model.plans import Tokens
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.policy_sets import PolicyChange
from app.model.quotas import RateLimit
from app.model.rules import RateLimited, ToolAllowlist
from app.redis_client.clients import store_time_ms
from app.store.governed_agents import GovernedAgent
from app.store.keyspace import Keyspace
from tests.support import parts
from tests.support.actors import BY

LIMIT = RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=5, window_seconds=60))
WIDER = RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=5, window_seconds=120))
LIST = ToolAllowlist(tools=["file.*"])


async def test_deleting_an_agent_leaves_nothing_of_it_but_its_audit_entries(client, workspace_id):
    """In any key or value of the workspace, including buckets of removed rules."""
    scene = await Scene(client, client, workspace_id).enter()
    policies = parts.policies(client, scene.ids)
    # A second agent, to show that only one of the two goes.
    other = await scene.agents.create(workspace_id, "other", None, by=BY)
    kept = await policies.create(workspace_id, Owner(other.id), PolicyFields(name="kept", rules=(LIMIT,)), by=BY)
    gone = [
        await policies.create(
            workspace_id, Owner(scene.agent.id), PolicyFields(name=str(n), rules=(LIMIT, LIST, LIMIT)), by=BY
        )
        for n in range(3)
    ]
    for policy in gone:
        await spend(scene, policy)
    await policies.update(workspace_id, gone[0].id, PolicyChanges(rules=(WIDER,)), by=BY)
    await spend(scene, await policies.get(workspace_id, gone[0].id))
    await policies.update(workspace_id, gone[1].id, PolicyChanges(enabled=False), by=BY)

    await scene.agents.delete(workspace_id, scene.agent.id, by=BY)

    log = {"audit", "changes"}
    left = {
        name: held
        for name, held in (await scene.everything()).items()
        if name.removeprefix(f"remit:{{{workspace_id}}}:").partition(":")[0] not in log
    }
    for dead in (scene.agent.id, *(policy.id for policy in gone)):
        assert dead not in str(left)
    assert len(await scene.entries()) == 4
    assert [policy.id async for policy in policies.each(workspace_id)] == [kept.id]
    assert [agent.id async for agent in scene.agents.each(workspace_id)] == [other.id]
    with pytest.raises(AgentNotFound):
        await scene.agents.get(workspace_id, scene.agent.id)
    with pytest.raises(PolicyNotFound):
        await policies.get(workspace_id, gone[0].id)


async def spend(scene, policy):
    """A call takes every quota of the policy."""
    scene.agent = await scene.agents.get(scene.workspace_id, scene.agent.id)
    names = [name for name in quota_fingerprints(policy.rules) if name is not None]
    await scene.commit(*(replace(quota(name, 5, 60_000_000), policy_id=policy.id) for name in names))


async def test_an_agent_and_its_policies_are_loaded_as_they_were_together(agents, policies, workspace_id):
    """Even during edits, a load never mixes an old policy with a new one."""
    made = await agents.create(workspace_id, "0", None, by=BY)
    pair = [
        await policies.create(workspace_id, Owner(made.id), PolicyFields(name="0", rules=(LIST,), priority=n), by=BY)
        for n in (2, 1)
    ]
    finished = asyncio.Event()

    async def edit():
        # The first policy is always renamed before the second.
        for n in range(1, 30):
            for policy in pair:
                await policies.update(workspace_id, policy.id, PolicyChanges(name=str(n)), by=BY)
        finished.set()

    async def look():
        seen = []
        while not finished.is_set():
            first, second = (await agents.load(workspace_id, made.id)).policies
            seen.append((int(first.name), int(second.name)))
        return seen

    _, seen = await asyncio.gather(edit(), look())

    assert all(first - second in (0, 1) for first, second in seen)
    assert len(set(seen)) > 1


async def test_loading_an_agent_without_policies_or_without_a_record(agents, workspace_id, ids):
    """An empty list of policies is valid; a missing agent is an error."""
    made = await agents.create(workspace_id, "a", None, by=BY)
    loaded = await agents.load(workspace_id, made.id)
    assert loaded == GovernedAgent(made, [], Tokens(made.version), decoding_s=loaded.decoding_s)
    with pytest.raises(AgentNotFound):
        await agents.load(workspace_id, ids.new(0))


async def test_an_agent_can_be_suspended_however_often_its_policies_change(agents, policies, client, workspace_id):
    """An admin can stop an agent while others keep editing its policies."""
    made = await agents.create(workspace_id, "a", None, by=BY)
    policy = await policies.create(workspace_id, Owner(made.id), PolicyFields(name="p", rules=(LIST,)), by=BY)
    read = agents.get

    async def overtaken(*args):
        agent = await read(*args)
        await policies.update(
            workspace_id,
            policy.id,
            PolicyChanges(priority=(await policies.get(*args[:1], policy.id)).priority + 1),
            by=BY,
        )
        return agent

    agents.get = overtaken
    suspended = await agents.update(workspace_id, made.id, status=AgentStatus.SUSPENDED, by=BY)

    assert suspended.status is AgentStatus.SUSPENDED
    assert await read(workspace_id, made.id) == suspended
    assert suspended.version != made.version


async def test_an_agent_can_be_deleted_however_often_it_and_its_policies_change(agents, policies, workspace_id):
    """An admin can delete an agent while others keep editing it."""
    made = await agents.create(workspace_id, "a", None, by=BY)
    policy = await policies.create(workspace_id, Owner(made.id), PolicyFields(name="p", rules=(LIST,)), by=BY)
    load, overtaken = agents.load, 0

    async def load_and_be_overtaken(*args):
        nonlocal overtaken
        loaded = await load(*args)
        held = await policies.get(workspace_id, policy.id)
        wanted = replace(held, priority=held.priority + 1)
        edited = await policies._put(workspace_id, PolicyChange(held, wanted), BY)
        renamed = await agents._put(workspace_id, loaded.agent, replace(loaded.agent, name="b"), BY)
        overtaken += (edited, renamed) != (None, None)
        return loaded

    agents.load = load_and_be_overtaken
    await agents.delete(workspace_id, made.id, by=BY)

    assert overtaken == 0
    with pytest.raises(PolicyNotFound):
        await policies.get(workspace_id, policy.id)


async def test_endless_edits_stop_when_the_agent_is_deleted(agents, policies, client, workspace_id):
    """All editors are told that it no longer exists; none is told to retry."""
    made = await agents.create(workspace_id, "a", None, by=BY)
    policy = await policies.create(workspace_id, Owner(made.id), PolicyFields(name="p", rules=(LIMIT,)), by=BY)

    async def edit():
        for priority in itertools.cycle(range(1_000)):
            await policies.update(workspace_id, policy.id, PolicyChanges(priority=priority), by=BY)

    async def come_and_go():
        while True:
            short = await policies.create(workspace_id, Owner(made.id), PolicyFields(name="q", rules=(LIMIT,)), by=BY)
            await policies.delete(workspace_id, short.id, by=BY)

    async def rename():
        for number in itertools.count():
            await agents.update(workspace_id, made.id, name=str(number), by=BY)

    outcomes = await asyncio.gather(
        edit(), edit(), come_and_go(), rename(), agents.delete(workspace_id, made.id, by=BY), return_exceptions=True
    )

    assert outcomes[-1] is None
    assert {type(each) for each in outcomes[:-1]} <= {AgentNotFound, PolicyNotFound}
    left = await everything(client, f"remit:{{{workspace_id}}}:*")
    assert set(left) <= {Keyspace(workspace_id).changes}


@pytest.mark.parametrize("away_ms", [-1, 60_000])
async def test_an_abandoned_deletion_does_not_block_changes_of_the_agent(
    agents, policies, client, workspace_id, away_ms
):
    """Its freeze has expired, or is impossibly far ahead because the clock stepped back."""
    made = await agents.create(workspace_id, "a", None, by=BY)
    policy = await policies.create(workspace_id, Owner(made.id), PolicyFields(name="p", rules=(LIST,)), by=BY)
    now_ms = await store_time_ms(client)
    await client.call("HSET", Keyspace(workspace_id).agent(made.id), "frozen_until_ms", now_ms + away_ms)

    assert (await policies.update(workspace_id, policy.id, PolicyChanges(name="q"), by=BY)).name == "q"
    assert (
        await policies.create(workspace_id, Owner(made.id), PolicyFields(name="r", rules=(LIST,)), by=BY)
    ).name == "r"
    await policies.delete(workspace_id, policy.id, by=BY)
    assert (await agents.update(workspace_id, made.id, name="b", by=BY)).name == "b"


async def test_a_refused_deletion_blocks_nothing(agents, client, workspace_id):
    """Otherwise repeating it would block others' changes."""
    made = await agents.create(workspace_id, "a", None, by=BY)
    before = await everything(client, f"remit:{{{workspace_id}}}:*")
    with pytest.raises(VersionConflict):
        await agents.delete(workspace_id, made.id, if_match=frozenset({7}), by=BY)
    assert await everything(client, f"remit:{{{workspace_id}}}:*") == before
