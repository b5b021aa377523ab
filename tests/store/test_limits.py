"""The numbers of agents, policies and keys in a workspace: limited exactly, by the scripts that create them."""

import asyncio

import pytest

from app.errors import LimitReached
from app.model.api_keys import Scope, new_raw_key
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.rules import ToolAllowlist
from app.store.limits import WorkspaceLimits
from app.store.workspaces import Workspaces
from tests.support import parts
from tests.support.actors import BY

RULES = (ToolAllowlist(tools=["file.read"]),)
READ = (Scope.READ,)


async def outcomes(creations):
    """How many creations succeeded; all others met LimitReached."""
    ended = await asyncio.gather(*creations, return_exceptions=True)
    assert all(isinstance(each, LimitReached) for each in ended if isinstance(each, Exception)), ended
    return sum(not isinstance(each, Exception) for each in ended)


@pytest.fixture
def agents(client, ids):
    return parts.agents(client, ids, WorkspaceLimits(agents=5))


async def test_concurrent_creations_do_not_exceed_the_limit_of_agents(agents, workspace_id):
    """Of twenty concurrent creations for five places, five succeed."""
    assert await outcomes(agents.create(workspace_id, "a", None, by=BY) for _ in range(20)) == 5
    assert len([each async for each in agents.each(workspace_id)]) == 5


async def test_concurrent_creations_do_not_exceed_the_limits_of_policies(client, ids, workspace_id):
    """Neither that of each agent nor that of the workspace."""
    agents, policies = (
        parts.agents(client, ids),
        parts.policies(client, ids, WorkspaceLimits(policies_per_agent=3, policies=5)),
    )
    one, other = [await agents.create(workspace_id, name, None, by=BY) for name in "ab"]

    async def fill(agent):
        creations = (
            policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)
            for _ in range(10)
        )
        return await outcomes(creations)

    assert (await fill(one), await fill(other)) == (3, 2)
    with pytest.raises(LimitReached, match=r"The agent has as many policies as it may have \(3\)"):
        await policies.create(workspace_id, Owner(one.id), PolicyFields(name="p", rules=RULES), by=BY)
    with pytest.raises(LimitReached, match=r"The workspace has as many policies as it may have \(5\)"):
        await policies.create(workspace_id, Owner(other.id), PolicyFields(name="p", rules=RULES), by=BY)


async def test_concurrent_creations_and_rotations_do_not_exceed_the_limit_of_keys(client, ids, workspace_id):
    """A successor counts as a key. A refused one leaves no pointer."""
    keys = parts.api_keys(client, ids, WorkspaceLimits(keys=5))
    first, _ = await keys.create(workspace_id, "first", READ, by=BY)
    creations = [keys.create(workspace_id, "k", READ, by=BY) for _ in range(10)]
    rotations = [keys.rotate(workspace_id, first.id, 0, by=BY) for _ in range(10)]

    assert await outcomes([*creations, *rotations]) == 4
    held = [each async for each in keys.each(workspace_id)]
    assert len(held) == 5
    pointers = [name async for name in _pointers(client, workspace_id)]
    assert len(pointers) == 5


async def _pointers(client, workspace_id):
    cursor = None
    while cursor != 0:
        cursor, names = await client.call("SCAN", cursor or 0, "MATCH", "remit:key:*", "COUNT", 1000)
        cursor = int(cursor)
        for name in names:
            if (await client.call("GET", name) or "").startswith(workspace_id):
                yield name


async def test_existing_resources_can_be_changed_at_the_limit_and_above_it(client, ids, workspace_id):
    """Lowering a limit deletes nothing and makes nothing read-only."""
    agents = parts.agents(client, ids)
    made = [await agents.create(workspace_id, "a", None, by=BY) for _ in range(3)]
    policy = await parts.policies(client, ids).create(
        workspace_id, Owner(made[0].id), PolicyFields(name="p", rules=RULES), by=BY
    )
    low = WorkspaceLimits(agents=1, policies=1, policies_per_agent=1)

    assert (await parts.agents(client, ids, low).update(workspace_id, made[2].id, name="b", by=BY)).name == "b"
    assert (
        await parts.policies(client, ids, low).update(workspace_id, policy.id, PolicyChanges(priority=7), by=BY)
    ).priority == 7
    with pytest.raises(LimitReached):
        await parts.agents(client, ids, low).create(workspace_id, "c", None, by=BY)


async def test_the_bootstrap_key_is_exempt_from_limits(client, ids):
    """A service that cannot start because somebody made too many keys would be no protection."""
    keys = parts.api_keys(client, ids, WorkspaceLimits(keys=1))
    workspaces = Workspaces(client, ids, keys)
    for _ in range(2):
        await workspaces.ensure_default(new_raw_key())
