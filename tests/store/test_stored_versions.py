"""Versions in the store: the script that makes a change checks the version it was based on."""

import asyncio

from app.errors import AgentNotFound, PolicyNotFound, VersionConflict
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.rules import ToolAllowlist
from tests.support.actors import BY

RULES = (ToolAllowlist(tools=["file.read"]),)
ONE = frozenset({1})


async def wins(changes, loser=VersionConflict):
    """How many of these changes were made; all others met VersionConflict, or what else a loser may meet."""
    outcomes = await asyncio.gather(*changes, return_exceptions=True)
    assert [each for each in outcomes if isinstance(each, Exception) and not isinstance(each, loser)] == []
    return sum(not isinstance(each, Exception) for each in outcomes)


async def test_of_many_changes_to_an_agents_version_one_is_made(agents, workspace_id):
    """All have read version 1; all but the first find version 2."""
    agent = await agents.create(workspace_id, "a", None, by=BY)
    changes = [agents.update(workspace_id, agent.id, name=str(each), if_match=ONE, by=BY) for each in range(20)]
    assert await wins(changes) == 1
    assert (await agents.get(workspace_id, agent.id)).revision == 2


async def test_of_many_changes_to_a_policys_version_one_is_made(agents, policies, workspace_id):
    """All have read version 1; all but the first find version 2."""
    agent = await agents.create(workspace_id, "a", None, by=BY)
    policy = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)
    changes = [
        policies.update(workspace_id, policy.id, PolicyChanges(priority=each), if_match=ONE, by=BY)
        for each in range(20)
    ]
    assert await wins(changes) == 1
    assert (await policies.get(workspace_id, policy.id)).version == 2


async def test_a_change_between_reading_and_deleting_is_seen(agents, policies, workspace_id):
    """A deletion checks the version it was given, even on a second try; a deleted policy stays deleted."""
    agent = await agents.create(workspace_id, "a", None, by=BY)
    policy = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)
    of_policy = [
        policies.update(workspace_id, policy.id, PolicyChanges(priority=7), if_match=ONE, by=BY),
        policies.delete(workspace_id, policy.id, if_match=ONE, by=BY),
    ]
    assert await wins(of_policy, (VersionConflict, PolicyNotFound)) == 1

    of_agent = [
        agents.update(workspace_id, agent.id, name="b", if_match=ONE, by=BY),
        agents.delete(workspace_id, agent.id, if_match=ONE, by=BY),
    ]
    assert await wins(of_agent, (VersionConflict, AgentNotFound)) == 1


async def test_changes_without_a_version_all_succeed(agents, workspace_id):
    """Without If-Match, nobody is refused: every admin's field is stored, and every change counted."""
    agent = await agents.create(workspace_id, "a", None, by=BY)
    await asyncio.gather(
        agents.update(workspace_id, agent.id, name="b", by=BY),
        agents.update(workspace_id, agent.id, description="d", by=BY),
    )
    held = await agents.get(workspace_id, agent.id)
    assert (held.name, held.description, held.revision) == ("b", "d", 3)
