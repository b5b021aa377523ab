"""Policies in the store."""

import asyncio

import pytest
from commit_scene import everything

from app.errors import AgentNotFound, PolicyNotFound, StoreUnavailable
from app.model.constraints import Constraint
from app.model.counting import quota_fingerprints
from app.model.policies import Owner, PolicyChanges, PolicyFields, evaluation_order
from app.model.quotas import RateLimit
from app.model.rules import ParameterConstraint, RateLimited, TimeBased, ToolAllowlist
from app.model.time_windows import TimeWindow
from app.store.keyspace import Keyspace
from app.store.policies import ATTEMPTS
from tests.support import parts
from tests.support.actors import BY

LIST = ToolAllowlist(tools=["file.*"])
LIMIT = RateLimited(tools=["file.*", "mail.send"], rate_limit=RateLimit(5, 60))
RULES = (
    LIST,
    ParameterConstraint(tools=["*"], parameters={"näme.ö": Constraint(regex='^"\\d+$', enum=[1, "1", None, True])}),
    LIMIT,
    TimeBased(tools=["*"], time_window=TimeWindow(allowed_hours=[9, 10], timezone="Europe/Paris")),
)


async def test_a_policy_is_read_as_it_was_created(policies, agent, workspace_id):
    """Rules of all types come back as given, strings and numbers alike."""
    made = await policies.create(
        workspace_id, Owner(agent.id), PolicyFields(name="Règle", rules=RULES, priority=1000, enabled=False), by=BY
    )

    assert await policies.get(workspace_id, made.id) == made
    assert (made.rules, made.priority, made.enabled, made.version) == (tuple(RULES), 1000, False, 1)
    assert made.created_ms == made.updated_ms


async def test_only_the_given_fields_change(policies, agent, workspace_id):
    """And the version counts the changes."""
    made = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)

    changed = await policies.update(workspace_id, made.id, PolicyChanges(priority=7), by=BY)
    changed = await policies.update(workspace_id, made.id, PolicyChanges(enabled=False), by=BY)

    assert (changed.name, changed.rules, changed.priority, changed.enabled) == ("p", tuple(RULES), 7, False)
    assert (changed.version, changed.created_ms) == (3, made.created_ms)
    assert changed.updated_ms > made.updated_ms
    assert await policies.get(workspace_id, made.id) == changed


async def test_a_change_of_nothing_changes_nothing(policies, agent, client, workspace_id):
    """Not even the version."""
    made = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)
    before = await everything(client, f"remit:{{{workspace_id}}}:*")

    assert await policies.update(workspace_id, made.id, PolicyChanges(), by=BY) == made

    assert await everything(client, f"remit:{{{workspace_id}}}:*") == before


@pytest.mark.parametrize("act", ["create", "update", "delete"])
async def test_every_change_replaces_the_agents_version(policies, agents, agent, workspace_id, act):
    """I8: a plan made before is stale from the moment the change is acknowledged."""
    policy = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)
    before = await agents.get(workspace_id, agent.id)

    match act:
        case "create":
            await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="q", rules=RULES), by=BY)
        case "update":
            await policies.update(workspace_id, policy.id, PolicyChanges(name="q"), by=BY)
        case "delete":
            await policies.delete(workspace_id, policy.id, by=BY)

    after = await agents.get(workspace_id, agent.id)
    assert after.version != before.version
    # The agent itself is as it was.
    assert (after.name, after.updated_ms) == (before.name, before.updated_ms)


async def test_policies_are_listed_in_the_order_of_evaluation(policies, agents, agent, workspace_id):
    """Highest priority first, then oldest, even after a change of priority; for one agent and for all."""
    other = await agents.create(workspace_id, "b", None, by=BY)
    for n, priority in enumerate([0, 1000, 5, 5, 0, 1000]):
        await policies.create(
            workspace_id,
            Owner((agent, other)[n % 2].id),
            PolicyFields(name=str(n), rules=(LIST,), priority=priority),
            by=BY,
        )
    first, *_, last = await policies.list_page(workspace_id)
    await policies.update(workspace_id, last.id, PolicyChanges(priority=1000), by=BY)
    await policies.update(workspace_id, first.id, PolicyChanges(priority=3), by=BY)

    for owner in (None, Owner(agent.id), Owner(other.id)):
        listed = await policies.list_page(workspace_id, owner)
        assert listed == evaluation_order(listed)
        assert len(listed) == (6 if owner is None else 3)
        assert [each.id for each in await policies.list_page(workspace_id, owner, limit=2, offset=1)] == [
            each.id for each in listed[1:3]
        ]


async def test_concurrent_changes_of_one_policy_all_happen(policies, agent, workspace_id):
    """With as many concurrent changes as one of them has attempts."""
    made = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)

    await asyncio.gather(
        policies.update(workspace_id, made.id, PolicyChanges(name="q"), by=BY),
        policies.update(workspace_id, made.id, PolicyChanges(priority=9), by=BY),
        policies.update(workspace_id, made.id, PolicyChanges(enabled=False), by=BY),
        policies.update(workspace_id, made.id, PolicyChanges(rules=(LIST,)), by=BY),
        *(policies.update(workspace_id, made.id, PolicyChanges(name="q"), by=BY) for _ in range(ATTEMPTS - 4)),
    )

    policy = await policies.get(workspace_id, made.id)
    assert (policy.name, policy.priority, policy.enabled, policy.rules) == ("q", 9, False, (LIST,))
    assert policy.version == ATTEMPTS + 1


async def test_a_change_that_always_loses_the_race_is_given_up(policies, agent, workspace_id, client, monkeypatch):
    """It is 503 after some attempts, and nothing is half-done."""
    made = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)
    rival = parts.policies(client, policies._ids)
    read = policies.get

    async def overtaken(*args):
        policy = await read(*args)
        await rival.update(workspace_id, made.id, PolicyChanges(priority=(policy.priority + 1) % 1000), by=BY)
        return policy

    monkeypatch.setattr(policies, "get", overtaken)
    with pytest.raises(StoreUnavailable, match="try again"):
        await policies.update(workspace_id, made.id, PolicyChanges(name="never"), by=BY)

    policy = await rival.get(workspace_id, made.id)
    assert (policy.name, policy.priority, policy.version) == ("p", ATTEMPTS, ATTEMPTS + 1)


async def test_a_policy_deleted_while_it_is_changed_stays_deleted(policies, agents, agent, client, workspace_id):
    """Neither its record nor its list entry comes back."""
    for _ in range(10):
        made = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)
        outcomes = await asyncio.gather(
            policies.delete(workspace_id, made.id, by=BY),
            *(policies.update(workspace_id, made.id, PolicyChanges(priority=n), by=BY) for n in range(3)),
            return_exceptions=True,
        )
        assert not [each for each in outcomes if isinstance(each, Exception) and not isinstance(each, PolicyNotFound)]
        assert not await client.call("EXISTS", Keyspace(workspace_id).policy(made.id))
    assert await policies.list_page(workspace_id) == []
    assert (await agents.load(workspace_id, agent.id)).policies == []


async def test_buckets_go_with_the_rules_they_belong_to(policies, agent, client, workspace_id):
    """A removed rate limit leaves no list behind; one that stays keeps its list."""
    keyspace = Keyspace(workspace_id)
    wider = RateLimited(tools=["*"], rate_limit=RateLimit(5, 120))
    made = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=(LIMIT, wider)), by=BY)
    stays, goes = (keyspace.quota(made.id, name) for name in quota_fingerprints(made.rules))
    for name in (stays, goes):
        await client.call("RPUSH", name, "1")
    more = RateLimited(tools=["mail.send", "file.*"], rate_limit=RateLimit(9, 60))

    await policies.update(workspace_id, made.id, PolicyChanges(rules=(LIST, more)), by=BY)
    assert [await client.call("EXISTS", name) for name in (stays, goes)] == [1, 0]

    await policies.delete(workspace_id, made.id, by=BY)
    assert not await client.call("EXISTS", stays)


async def test_a_policy_for_an_agent_that_is_not_there_is_refused(policies, agent, workspace_id, ids, client):
    """Whether unknown or another workspace's; nothing is written."""
    stranger = ids.new(0)
    with pytest.raises(AgentNotFound):
        await policies.create(workspace_id, Owner(ids.new(0)), PolicyFields(name="p", rules=(LIST,)), by=BY)
    with pytest.raises(AgentNotFound):
        await policies.create(stranger, Owner(agent.id), PolicyFields(name="p", rules=(LIST,)), by=BY)
    assert await policies.list_page(workspace_id) == []
    assert await everything(client, f"remit:{{{stranger}}}:*") == {}


async def test_another_workspaces_policy_does_not_exist(policies, agent, workspace_id, ids):
    """With any method, and nothing happens to it."""
    made = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY)
    stranger = ids.new(0)
    for act in (
        policies.get(stranger, made.id),
        policies.update(stranger, made.id, PolicyChanges(name="q"), by=BY),
        policies.delete(stranger, made.id, by=BY),
    ):
        with pytest.raises(PolicyNotFound):
            await act
    assert await policies.list_page(stranger) == []
    assert await policies.list_page(stranger, Owner(agent.id)) == []
    assert await policies.get(workspace_id, made.id) == made
