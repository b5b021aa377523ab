"""Versions of a policy: a limited number, each with who made it and why; any can be restored."""

import pytest

from app.errors import VersionNotKept
from app.model.policies import Owner, PolicyChanges, PolicyFields, PolicyKind, PolicyMode
from app.model.quotas import RateLimit
from app.model.rules import RateLimited, ToolAllowlist
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from tests.support import parts
from tests.support.actors import BY

RULES = (ToolAllowlist(tools=["file.read"]),)
LIMITED = (RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=1, window_seconds=60)),)
CHANGES = {"kind": PolicyKind.GUARDRAIL, "name": "q", "rules": LIMITED, "priority": 7, "enabled": False}
CHANGES |= {"key": "k", "agent_message": "m", "managed_by": "repo", "keeps_requests": True, "mode": PolicyMode.SHADOW}
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


async def test_a_version_that_is_dropped_while_it_is_read_is_not_restored(
    policies, versions, policy, workspace_id, monkeypatch
):
    """The fifth later change is made after version 1 was read and before it is written."""
    read = versions.get

    async def get(*asked):
        found = await read(*asked)
        await policies.update(workspace_id, policy.id, PolicyChanges(priority=9), by=BY)
        return found

    for priority in range(1, 4):
        await policies.update(workspace_id, policy.id, PolicyChanges(priority=priority), by=BY)
    monkeypatch.setattr(versions, "get", get)
    assert (await versions.roll_back(workspace_id, policy.id, 2, by=BY)).priority == 1
    with pytest.raises(VersionNotKept):
        await versions.roll_back(workspace_id, policy.id, 2, by=BY)
