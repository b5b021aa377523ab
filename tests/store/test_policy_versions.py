"""Versions of a policy: a limited number, each with who made it and why; any can be restored."""

import pytest
from msgspec.structs import replace

from app.errors import PolicyNotFound, PolicyVersionNotFound, VersionConflict, VersionNotKept
from app.model.api_keys import Scope
from app.model.policies import Owner, Policy, PolicyChanges, PolicyFields, PolicyKind, PolicyMode
from app.model.quotas import RateLimit
from app.model.rules import RateLimited, ToolAllowlist
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.policy_records import quota_keys
from tests.support import parts
from tests.support.actors import BY, by_key

RULES = (ToolAllowlist(tools=["file.read"]),)
LIMITED = (RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=1, window_seconds=60)),)
CHANGES = {"kind": PolicyKind.GUARDRAIL, "name": "q", "rules": LIMITED, "priority": 7, "enabled": False}
CHANGES |= {"key": "k", "agent_message": "m", "mode": PolicyMode.SHADOW}
"""Each field of a policy that can change, and another value of it."""


@pytest.fixture
def policies(client, ids):
    return parts.policies(client, ids, WorkspaceLimits(policy_versions=5))


@pytest.fixture
def versions(client, policies):
    return parts.policy_versions(client, policies, 5)


@pytest.fixture
async def policy(client, ids, policies, workspace_id):
    agent = await parts.agents(client, ids).create(workspace_id, "a", None, by=BY)
    return await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)


async def listed(versions, workspace_id, policy, limit=None):
    return [each async for each in versions.each(workspace_id, policy.id, limit)]


def content(policy):
    """The part of a policy that a rollback restores."""
    return replace(policy, version=0, updated_ms=0)


def test_every_field_of_a_policy_is_tried_here():
    """A new field must be restored, too."""
    fixed = {"id", "agent_id", "group", "created_ms", "updated_ms", "version"}
    assert set(Policy.__struct_fields__) - fixed == set(CHANGES)


async def test_every_version_is_there_with_who_when_what_and_why(client, ids, policies, versions, policy, workspace_id):
    """Newest first, each with the whole policy."""
    key, _ = await parts.api_keys(client, ids).create(workspace_id, "ann", (Scope.ADMIN,), by=BY)
    second = await policies.update(
        workspace_id, policy.id, PolicyChanges(priority=3), by=by_key(key.id, "first things first")
    )
    third = await policies.update(workspace_id, policy.id, PolicyChanges(rules=LIMITED, name="q"), by=BY)

    found = await listed(versions, workspace_id, policy)
    assert [content(each.policy) for each in found] == [content(each) for each in (third, second, policy)]
    assert [each.policy.version for each in found] == [3, 2, 1]
    assert [(each.change.actor_name, each.change.reason or None, each.changed) for each in found] == [
        ("console", None, ["name", "rules"]),
        ("ann", "first things first", ["priority"]),
        ("console", None, []),
    ]
    assert [each.policy.version for each in await listed(versions, workspace_id, policy, limit=2)] == [3, 2]


@pytest.mark.parametrize("field", CHANGES)
async def test_a_rollback_brings_every_field_back(policies, versions, policy, workspace_id, field):
    """It is a new version, with who made it and why."""
    if field == "rules":
        await policies.update(workspace_id, policy.id, PolicyChanges(rules=LIMITED), by=BY)
    await policies.change(workspace_id, policy.id, lambda held: replace(held, **{field: CHANGES[field]}), by=BY)
    back = await versions.roll_back(workspace_id, policy.id, 1, by=BY)

    assert content(back) == content(policy)
    assert content(await policies.get(workspace_id, policy.id)) == content(policy)
    newest = (await listed(versions, workspace_id, policy))[0]
    assert (newest.policy.version, newest.change.reason) == (back.version, "back to version 1")


async def test_a_rollback_keeps_the_calls_of_limits_that_stay(client, policies, versions, policy, workspace_id):
    """A bucket belongs to tools and window; one that the restored version lacks is dropped."""
    keyspace = Keyspace(workspace_id)
    await policies.update(workspace_id, policy.id, PolicyChanges(rules=LIMITED), by=BY)
    [bucket] = quota_keys(keyspace, policy.id, LIMITED)
    await client.call("LPUSH", bucket, 1)
    await policies.update(workspace_id, policy.id, PolicyChanges(name="q"), by=BY)
    await versions.roll_back(workspace_id, policy.id, 2, by=BY)
    assert await client.call("LLEN", bucket) == 1
    await versions.roll_back(workspace_id, policy.id, 1, by=BY)
    assert await client.call("LLEN", bucket) == 0


async def test_a_limited_number_of_versions_is_kept(client, policies, versions, policy, workspace_id):
    """Including the current one; older ones are known to have existed."""
    for priority in range(1, 8):
        await policies.update(workspace_id, policy.id, PolicyChanges(priority=priority), by=BY)
    assert [each.policy.priority for each in await listed(versions, workspace_id, policy)] == [7, 6, 5, 4, 3]
    assert await client.call("LLEN", Keyspace(workspace_id).policy_versions(policy.id)) == 5

    assert (await versions.get(workspace_id, policy.id, 4)).priority == 3
    with pytest.raises(VersionNotKept, match="Version 3 of the policy is no longer kept"):
        await versions.roll_back(workspace_id, policy.id, 3, by=BY)
    with pytest.raises(PolicyVersionNotFound, match="is at version 8; there was no version 9 yet"):
        await versions.roll_back(workspace_id, policy.id, 9, by=BY)


async def test_a_policy_older_than_versions_has_those_since(client, policies, versions, policy, workspace_id):
    """And the version at that time, of which it is unknown who made it."""
    await policies.update(workspace_id, policy.id, PolicyChanges(priority=1), by=BY)
    await client.call("DEL", Keyspace(workspace_id).policy_versions(policy.id))
    assert [(each.policy.version, each.change) for each in await listed(versions, workspace_id, policy)] == [(2, None)]

    await policies.update(workspace_id, policy.id, PolicyChanges(priority=2), by=BY)
    found = await listed(versions, workspace_id, policy)
    assert [(each.policy.version, each.policy.priority) for each in found] == [(3, 2), (2, 1)]
    assert [each.change is None for each in found] == [False, True]
    assert (await versions.roll_back(workspace_id, policy.id, 2, by=BY)).priority == 1


async def test_versions_go_with_their_policy(client, ids, policies, versions, policy, workspace_id):
    """When it or its agent is deleted, no key is left."""
    other = await policies.create(workspace_id, Owner(policy.agent_id), PolicyFields(name="o", rules=RULES), by=BY)
    await policies.delete(workspace_id, policy.id, by=BY)
    with pytest.raises(PolicyNotFound):
        await listed(versions, workspace_id, policy)
    assert await client.call("EXISTS", Keyspace(workspace_id).policy_versions(policy.id)) == 0
    await parts.agents(client, ids).delete(workspace_id, policy.agent_id, by=BY)
    assert await client.call("EXISTS", Keyspace(workspace_id).policy_versions(other.id)) == 0


async def test_a_rollback_respects_if_match(policies, versions, policy, workspace_id):
    """An admin who has not seen the newest version cannot undo it."""
    await policies.update(workspace_id, policy.id, PolicyChanges(priority=1), by=BY)
    with pytest.raises(VersionConflict):
        await versions.roll_back(workspace_id, policy.id, 1, if_match=frozenset({1}), by=BY)
    assert (await versions.roll_back(workspace_id, policy.id, 1, if_match=frozenset({2}), by=BY)).version == 3
