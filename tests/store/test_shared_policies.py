"""Policies of groups and of the whole workspace: whom they govern, what a change replaces, and their limits."""

import pytest
from commit_scene import Scene, quota

from app.authorize.commit import Stale
from app.errors import LimitReached
from app.model.agents import group_digest
from app.model.decisions import Decision
from app.model.plans import Tokens
from app.model.policies import WORKSPACE, Owner, PolicyChanges, PolicyFields, PolicyKind
from app.model.quotas import RateLimit
from app.model.rules import RateLimited, ToolDenylist
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from tests.support import parts
from tests.support.actors import BY

NEVER = (ToolDenylist(tools=["rm"]),)
GUARDRAIL = {"kind": PolicyKind.GUARDRAIL, "name": "g", "rules": NEVER}


async def test_a_change_replaces_only_the_token_of_its_owner(agents, policies, workspace_id):
    """Whether an agent's own, a group's or the workspace's."""
    agent = await agents.create(workspace_id, "a", None, ["crew", "night"], by=BY)
    crew = await policies.create(workspace_id, Owner(group="crew"), PolicyFields(name="c", rules=NEVER), by=BY)
    every = await policies.create(workspace_id, WORKSPACE, PolicyFields(**GUARDRAIL), by=BY)

    async def moved(change):
        before = (await agents.load(workspace_id, agent.id)).tokens
        await change
        after = (await agents.load(workspace_id, agent.id)).tokens
        pairs = zip(before.groups, after.groups, strict=True)
        return before.agent != after.agent, before.workspace != after.workspace, [a != b for a, b in pairs]

    assert await moved(policies.update(workspace_id, crew.id, PolicyChanges(priority=3), by=BY)) == (
        False,
        False,
        [True, False],
    )
    assert await moved(policies.update(workspace_id, every.id, PolicyChanges(priority=3), by=BY)) == (
        False,
        True,
        [False, False],
    )
    own = policies.create(workspace_id, Owner(agent.id), PolicyFields(name="own", rules=NEVER), by=BY)
    assert await moved(own) == (True, False, [False, False])
    night = policies.create(workspace_id, Owner(group="night"), PolicyFields(name="n", rules=NEVER), by=BY)
    assert await moved(night) == (False, False, [False, True])


async def test_without_policies_there_is_no_token(agents, policies, client, workspace_id):
    """So a workspace that no longer has groups is as before; other agents' records were never touched."""
    agent = await agents.create(workspace_id, "a", None, ["crew"], by=BY)
    made = [
        await policies.create(workspace_id, WORKSPACE, PolicyFields(**GUARDRAIL), by=BY),
        await policies.create(workspace_id, Owner(group="crew"), PolicyFields(name="c", rules=NEVER), by=BY),
    ]
    for each in made:
        await policies.delete(workspace_id, each.id, by=BY)

    keyspace, digest = Keyspace(workspace_id), group_digest("crew")
    assert (await agents.load(workspace_id, agent.id)).tokens == Tokens(agent.version, "", ((digest, ""),))
    left = (keyspace.commits, keyspace.group(digest), keyspace.group_policies(digest), keyspace.workspace_policies)
    assert [await client.call("EXISTS", name) for name in left] == [0, 0, 0, 0]


async def test_a_commit_needs_every_token_that_its_plan_was_made_from(client, workspace_id):
    """I8: of the agent, its workspace and each of its groups; nothing is written if one has changed."""
    scene = await Scene(client, client, workspace_id).enter()
    policies = parts.policies(client, scene.ids)
    scene.agent = await scene.agents.update(workspace_id, scene.agent.id, groups=("crew", "night"), by=BY)
    guardrail = await policies.create(workspace_id, WORKSPACE, PolicyFields(**GUARDRAIL), by=BY)
    tokens = (await scene.agents.load(workspace_id, scene.agent.id)).tokens
    assert isinstance(await scene.commit(quota("q", 9, 60), tokens=tokens), Decision)

    for change in (
        lambda: policies.create(workspace_id, Owner(group="night"), PolicyFields(name="n", rules=NEVER), by=BY),
        lambda: policies.update(workspace_id, guardrail.id, PolicyChanges(enabled=False), by=BY),
        lambda: policies.create(workspace_id, Owner(group="crew"), PolicyFields(name="c", rules=NEVER), by=BY),
        lambda: scene.agents.update(workspace_id, scene.agent.id, groups=("crew",), by=BY),
        lambda: policies.delete(workspace_id, guardrail.id, by=BY),
    ):
        await change()
        before = await scene.everything()
        assert isinstance(await scene.commit(quota("q", 9, 60), tokens=tokens), Stale)
        assert await scene.everything() == before
        tokens = (await scene.agents.load(workspace_id, scene.agent.id)).tokens
        assert isinstance(await scene.commit(quota("q", 9, 60), tokens=tokens), Decision)


async def test_each_groups_token_is_checked_in_its_own_place(client, workspace_id):
    """Two groups with exchanged tokens make the plan stale."""
    scene = await Scene(client, client, workspace_id).enter()
    for field, token in (("group:a", "1"), ("group:b", "2")):
        await client.call("HSET", scene.keyspace.commits, field, token)
    version = scene.agent.version

    assert isinstance(await scene.commit(tokens=Tokens(version, "", (("a", "1"), ("b", "2")))), Decision)
    for groups in ((("a", "2"), ("b", "1")), (("a", "1"),), (("a", ""), ("b", "2"))):
        stale = isinstance(await scene.commit(tokens=Tokens(version, "", groups)), Stale)
        assert stale == (groups != (("a", "1"),))


@pytest.mark.parametrize("owner", [Owner(group="crew"), WORKSPACE], ids=["group", "workspace"])
async def test_shared_policies_have_limits_of_their_own(client, ids, workspace_id, owner):
    """Policies, rate limits and bytes of rules, for each group and for the workspace, apart from agents' own limits."""
    limits = WorkspaceLimits(policies_per_group=2, rate_limits_per_group=3, rules_bytes_per_group=1_000)
    policies = parts.policies(client, ids, limits)
    limited = [RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=1, window_seconds=60))] * 2
    first = await policies.create(workspace_id, owner, PolicyFields(**GUARDRAIL | {"rules": limited}), by=BY)
    with pytest.raises(LimitReached, match=r"may have 3 rate limits in total"):
        await policies.create(workspace_id, owner, PolicyFields(**GUARDRAIL | {"rules": limited}), by=BY)
    with pytest.raises(LimitReached, match=r"may have 1000 bytes"):
        await policies.create(
            workspace_id, owner, PolicyFields(**GUARDRAIL | {"rules": [ToolDenylist(tools=["x" * 200] * 5)]}), by=BY
        )
    await policies.create(workspace_id, owner, PolicyFields(**GUARDRAIL), by=BY)
    with pytest.raises(LimitReached, match=r"policies as it may have \(2\)"):
        await policies.create(workspace_id, owner, PolicyFields(**GUARDRAIL), by=BY)
    await policies.delete(workspace_id, first.id, by=BY)
    await policies.create(workspace_id, owner, PolicyFields(**GUARDRAIL | {"rules": limited}), by=BY)


async def test_policies_older_than_groups_are_grants_of_their_agent(client, policies, workspace_id, agents):
    """Old records keep their meaning."""
    agent = await agents.create(workspace_id, "a", None, by=BY)
    made = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=NEVER), by=BY)
    await client.call("HDEL", Keyspace(workspace_id).policy(made.id), "group", "policy_kind")
    assert await policies.get(workspace_id, made.id) == made
    assert [each.id async for each in policies.each(workspace_id, kind=PolicyKind.GRANT)] == [made.id]


async def test_a_plan_from_before_a_groups_last_policy_was_deleted_is_stale(client, workspace_id):
    """I8: the group then has no token at all."""
    scene = await Scene(client, client, workspace_id).enter()
    policies = parts.policies(client, scene.ids)
    scene.agent = await scene.agents.update(workspace_id, scene.agent.id, groups=("crew",), by=BY)
    last = await policies.create(workspace_id, Owner(group="crew"), PolicyFields(name="c", rules=NEVER), by=BY)
    tokens = (await scene.agents.load(workspace_id, scene.agent.id)).tokens
    await policies.delete(workspace_id, last.id, by=BY)
    assert isinstance(await scene.commit(tokens=tokens), Stale)


async def test_a_page_beyond_all_policies_of_a_kind_is_empty(policies, workspace_id):
    """However many reads it takes to find those before it."""
    for number in range(20):
        kind = PolicyKind.GUARDRAIL if number in (0, 10, 18) else PolicyKind.GRANT
        fields = PolicyFields(name=str(number), rules=NEVER, kind=kind)
        await policies.create(workspace_id, Owner(group="crew"), fields, by=BY)
    pages = [policies.each(workspace_id, None, 2, offset, kind=PolicyKind.GUARDRAIL) for offset in (0, 2, 3)]
    assert [[each.name async for each in page] for page in pages] == [["0", "10"], ["18"], []]
