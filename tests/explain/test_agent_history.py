"""The history: at every place in the log, it agrees with what the store held at that time."""

import random

import pytest
from msgspec.structs import replace

from app.errors import AgentNotFound, VersionNotKept
from app.explain.agent_trail import AgentTrail
from app.model.agents import AgentStatus
from app.model.changes import ChangeQuery, HistoryQuery
from app.model.policies import (
    WORKSPACE,
    Owner,
    PolicyChanges,
    PolicyFields,
    PolicyKind,
    PolicyMode,
    evaluation_order,
    off_in_shadow,
)
from app.model.policy_sets import PolicyEntry
from app.model.quotas import RateLimit
from app.model.rules import RateLimited, ToolAllowlist, ToolDenylist
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record
from app.replay import history as replay_history
from app.replay.spans import LogPosition
from app.store.changes import Changes
from app.store.keyspace import Keyspace
from tests.support import parts
from tests.support.actors import BY

ALLOW = (ToolAllowlist(tools=["file.read"]),)
RULES = [
    ALLOW,
    [ToolDenylist(tools=["rm"]), RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=2, window_seconds=60))],
    [ToolAllowlist(tools=["*"])],
]
GROUPS = ("crew", "night", "day")


@pytest.fixture
def client(valkey_client):
    return valkey_client


class Past:
    """A workspace with changes, and a record of what governed an agent after each one.

    The log grows as if calls were made: `entry` gives the next entry's number, within the same millisecond or not.
    """

    def __init__(self, client, ids, workspace_id, kept=100):
        self.client, self.workspace_id = client, workspace_id
        self.agents, self.policies = parts.agents(client, ids), parts.policies(client, ids)
        self.sets = parts.policy_sets(client, ids)
        self.history = parts.agent_history(client, kept)
        self.seen = []

    async def look(self, agent_id):
        """Record what governs the agent at the entry written now."""
        sequence = await self.client.call("HINCRBY", Keyspace(self.workspace_id).commits, "sequence", 1)
        try:
            governed = await self.agents.load(self.workspace_id, agent_id)
            state = comparable(governed.agent, governed.policies)
        except AgentNotFound:
            state = None
        self.seen.append((LogPosition(await store_time_ms(self.client), sequence), state))

    async def as_replayed(self, agent_id):
        """What governed the agent at each recorded place, according to a replay."""
        changes = (await Changes(self.client).query(self.workspace_id, ChangeQuery(limit=1000))).changes
        agents = [agent async for agent in self.agents.each(self.workspace_id)]
        history = replay_history.History(
            agents, [each async for each in self.policies.each(self.workspace_id)], changes
        )
        return [history.span(agent_id, entry) for entry, _ in self.seen]

    async def past(self, agent_id, entry):
        try:
            return comparable(*await self.history.governed_at(self.workspace_id, agent_id, entry))
        except AgentNotFound:
            return None


def comparable(agent, policies):
    """Without fields that no decision depends on: tokens, and times of changes."""
    ordered = [replace(each, updated_ms=0) for each in evaluation_order(policies)]
    return replace(agent, version="", updated_ms=0, active_since=0), ordered


@pytest.fixture
def past(client, ids, workspace_id):
    return Past(client, ids, workspace_id)


async def change_something(past, rng, agent_id, others):
    """Make one change of any kind, to something that may govern the agent or to something else."""
    held = [each async for each in past.policies.each(past.workspace_id)]
    match rng.randrange(10):
        case 0 | 1 | 2:
            owner = rng.choice([Owner(agent_id), Owner(others), Owner(group=rng.choice(GROUPS)), WORKSPACE])
            kind = rng.choice(list(PolicyKind)) if owner != WORKSPACE else PolicyKind.GUARDRAIL
            given = {"kind": kind, "name": f"p{rng.randrange(99)}", "rules": rng.choice(RULES)}
            await past.policies.create(
                past.workspace_id, owner, PolicyFields(priority=rng.randrange(2), **given), by=BY
            )
        case 3 if held:
            await past.policies.update(
                past.workspace_id, rng.choice(held).id, PolicyChanges(rules=rng.choice(RULES)), by=BY
            )
        case 4 if held:
            fields = {"enabled": rng.random() < 0.5, "priority": rng.randrange(3), "name": f"p{rng.randrange(99)}"}
            fields |= {"agent_message": rng.choice(["ask ann", None]), "mode": rng.choice(list(PolicyMode))}
            name = rng.choice(list(fields))
            await past.policies.update(
                past.workspace_id, rng.choice(held).id, PolicyChanges(**{name: fields[name]}), by=BY
            )
        case 5 if held:
            await past.policies.delete(past.workspace_id, rng.choice(held).id, by=BY)
        case 6:
            entries = [PolicyEntry(name=f"s{rng.randrange(9)}", rules=rng.choice(RULES)) for _ in range(2)]
            await past.sets.put(past.workspace_id, Owner(agent_id), entries, prune=rng.random() < 0.5, by=BY)
        case 7:
            groups = tuple(rng.sample(GROUPS, rng.randrange(3)))
            await past.agents.update(past.workspace_id, agent_id, groups=groups, by=BY)
        case 8:
            status = rng.choice([AgentStatus.ACTIVE, AgentStatus.SUSPENDED])
            await past.agents.update(
                past.workspace_id,
                agent_id,
                status=status,
                description=rng.choice(["d", None]),
                alias=rng.choice(["here", None]),
                by=BY,
            )
        case _:
            await past.agents.update(past.workspace_id, others, name=f"o{rng.randrange(99)}", by=BY)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
@pytest.mark.parametrize("is_deleted", [False, True], ids=["the agent is there", "the agent is gone"])
async def test_at_every_entry_the_history_matches_the_store_at_that_time(past, seed, is_deleted):
    """Exactly, even if many changes and entries share a millisecond."""
    rng = random.Random(seed)
    others = (await past.agents.create(past.workspace_id, "others", None, by=BY)).id
    agent_id = (await past.agents.create(past.workspace_id, "a", None, groups=["crew"], by=BY)).id
    await past.look(agent_id)
    for _ in range(40):
        await change_something(past, rng, agent_id, others)
        await past.look(agent_id)
    if is_deleted:
        await past.agents.delete(past.workspace_id, agent_id, by=BY)
        await past.look(agent_id)

    assert len({entry.time_ms for entry, _ in past.seen}) > 1
    for entry, state in past.seen:
        assert await past.past(agent_id, entry) == state

    # A replay undoes the same changes for all agents at once: it must come to the same.
    for span, (_, state) in zip(await past.as_replayed(agent_id), past.seen, strict=True):
        assert (span.policies is None) == (state is None)
        if state is not None:
            agent, policies = state
            assert set(span.groups) == set(agent.groups)
            assert evaluation_order(replace(each, updated_ms=0) for each in span.policies) == [
                off_in_shadow(each) for each in policies
            ]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
@pytest.mark.parametrize("is_deleted", [False, True], ids=["the agent is there", "the agent is gone"])
async def test_a_change_concerns_an_agent_if_it_is_of_what_governed_it_before_or_after(past, seed, is_deleted):
    """The agent itself, or a policy that the store lists for it on either side of the change; and nothing else."""
    rng = random.Random(seed)
    changes, trail = Changes(past.client), AgentTrail(past.client)
    others = (await past.agents.create(past.workspace_id, "others", None, by=BY)).id
    agent_id = (await past.agents.create(past.workspace_id, "a", None, groups=["crew"], by=BY)).id

    async def governing():
        try:
            governed = await past.agents.load(past.workspace_id, agent_id)
        except AgentNotFound:
            return {agent_id}
        return {agent_id, *(policy.id for policy in governed.policies)}

    expected, seen = [agent_id], 2
    before = await governing()
    for step in range(60):
        if step == 59 and is_deleted:
            await past.agents.delete(past.workspace_id, agent_id, by=BY)
        else:
            await change_something(past, rng, agent_id, others)
        after = await governing()
        found = (await changes.query(past.workspace_id, ChangeQuery(limit=1000))).changes
        expected += [
            each.resource_id for each in found[: len(found) - seen][::-1] if each.resource_id in before | after
        ]
        before, seen = after, len(found)
    concerning = await trail.query(past.workspace_id, agent_id, HistoryQuery(limit=1000))
    assert [each.resource_id for each in concerning.changes][::-1] == expected
    assert len(expected) < seen
    assert concerning.complete
    short = await AgentTrail(past.client, read_max_bytes=1).query(past.workspace_id, agent_id, HistoryQuery())
    assert not short.complete


async def test_changes_without_an_entry_number_are_compared_by_time(client, past):
    """Changes of an older release: exactly, except within their own millisecond."""
    agent = await past.agents.create(past.workspace_id, "a", None, by=BY)
    policy = await past.policies.create(past.workspace_id, Owner(agent.id), PolicyFields(name="p", rules=ALLOW), by=BY)
    name = Keyspace(past.workspace_id).changes
    stored = await client.call("XRANGE", name, "-", "+")
    await client.call("DEL", name)
    for change_id, fields in stored:
        kept = [word for pair in as_record(fields).items() if pair[0] != "sequence" for word in pair]
        await client.call("XADD", name, change_id, *kept)
    created_ms = int(stored[-1][0].partition("-")[0])

    before, then = LogPosition(created_ms - 1, 1), LogPosition(created_ms, 1)
    assert [each.id for each in (await past.past(agent.id, then))[1]] == [policy.id]
    if int(stored[-2][0].partition("-")[0]) < created_ms:
        assert (await past.past(agent.id, before))[1] == []


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_policy_changed_too_often_since_is_no_longer_known(client, ids, workspace_id, is_deleted):
    """Even if the policy was deleted; newer entries can still be explained."""
    past = Past(client, ids, workspace_id, kept=4)
    agent = await past.agents.create(workspace_id, "a", None, by=BY)
    policy = await past.policies.create(workspace_id, Owner(agent.id), PolicyFields(name="p", rules=ALLOW), by=BY)
    await past.look(agent.id)
    for priority in range(1, 5):
        await past.policies.update(workspace_id, policy.id, PolicyChanges(priority=priority), by=BY)
        await past.look(agent.id)
    if is_deleted:
        await past.policies.delete(workspace_id, policy.id, by=BY)
        await past.look(agent.id)

    with pytest.raises(VersionNotKept, match="no longer kept"):
        await past.past(agent.id, past.seen[0][0])
    for entry, state in past.seen[1:]:
        assert await past.past(agent.id, entry) == state


async def test_an_agent_that_never_existed_is_unknown(past):
    """Nor is one of another workspace known."""
    agent = await past.agents.create(past.workspace_id, "a", None, by=BY)
    await past.look(agent.id)
    with pytest.raises(AgentNotFound):
        await past.history.governed_at(past.workspace_id, "018bcfe5-6800-7000-8000-00000000cafe", past.seen[0][0])


async def test_before_its_creation_there_was_no_agent(past):
    """Not even at the moment before."""
    await past.look("018bcfe5-6800-7000-8000-00000000cafe")
    agent = await past.agents.create(past.workspace_id, "a", None, by=BY)
    await past.look(agent.id)
    assert await past.past(agent.id, past.seen[0][0]) is None
    assert await past.past(agent.id, past.seen[1][0]) == past.seen[1][1]
