"""Sets of policies in the store: read at one moment, written in one step or not at all."""

import asyncio

import msgspec
import pytest
from commit_scene import everything

from app.errors import AgentNotFound, LimitReached, PolicyNotFound, StoreUnavailable, Unauthorized
from app.model.changes import ChangeQuery
from app.model.constraints import Constraint
from app.model.policies import WORKSPACE, Owner, PolicyFields, PolicyKind
from app.model.policy_sets import NO_VERSION, PolicyEntry
from app.model.quotas import RateLimit
from app.model.rules import ParameterConstraint, RateLimited, ToolAllowlist, ToolDenylist
from app.redis_client.replies import as_record
from app.store.changes import Changes
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from tests.support import parts
from tests.support.actors import BY, by_key

LIST = ToolAllowlist(tools=["file.*"])
LIMIT = RateLimited(tools=["file.*"], rate_limit=RateLimit(max_calls=5, window_seconds=60))
OTHER_LIMIT = RateLimited(tools=["mail.*"], rate_limit=RateLimit(max_calls=5, window_seconds=60))
GUARD = {"name": "g", "kind": PolicyKind.GUARDRAIL, "rules": [ToolDenylist(tools=["rm"])]}


@pytest.fixture(params=["agent", "group", "workspace"])
async def owner(request, agent):
    """The owner of the policies."""
    return {"agent": Owner(agent.id), "group": Owner(group="crew"), "workspace": WORKSPACE}[request.param]


def entry(name="p", rules=(LIST,), **fields):
    return PolicyEntry(name=name, rules=tuple(rules), kind=fields.pop("kind", PolicyKind.GUARDRAIL), **fields)


def shown(policies):
    return [(each.name, each.priority, each.version) for each in policies]


async def test_a_change_from_1_to_true_is_a_change(sets, client, workspace_id, agent):
    """Python considers them equal; the set and the trail do not."""
    for value in (1, True, 1.0):
        rule = ParameterConstraint(tools=["*"], parameters={"x": Constraint(enum=[value])})
        done = await sets.put(workspace_id, Owner(agent.id), [entry("p", [rule])], by=BY)
    assert done.applied.policies[0].version == 3
    page = await Changes(client).query(workspace_id, ChangeQuery(resource_id=done.applied.policies[0].id))
    told = [msgspec.json.decode(each.after)["rules"][0]["parameters"]["x"]["enum"] for each in page.changes]
    assert list(map(repr, told)) == ["[1.0]", "[True]", "[1]"]


async def test_an_emptied_set_leaves_nothing(sets, client, agents, agent, workspace_id, owner):
    """A group or workspace without policies is as if it had never had any."""
    before = await everything(client, f"remit:{{{workspace_id}}}:*")
    await sets.put(workspace_id, owner, [entry("a", [LIMIT]), entry("b")], by=BY)

    done = await sets.put(workspace_id, owner, [], prune=True, by=BY)

    assert done.applied.policies == []
    assert await sets.get(workspace_id, owner) == done.applied
    after = await everything(client, f"remit:{{{workspace_id}}}:*")
    del after[Keyspace(workspace_id).changes], before[Keyspace(workspace_id).changes]
    record = Keyspace(workspace_id).agent(agent.id)
    if owner.agent_id:
        counts = as_record(after[record][1])
        assert (counts["rate_limits"], counts["rules_bytes"]) == ("0", "0")
        del after[record], before[record]
    else:
        assert done.applied.version == NO_VERSION
    assert after == before


async def test_only_the_owners_token_is_replaced(sets, agents, workspace_id, owner):
    """I8: its agents' earlier plans are stale; other agents' are not."""
    mine = await agents.create(workspace_id, "mine", None, ["crew"], by=BY)
    governed = owner.agent_id or mine.id
    other = await agents.create(workspace_id, "other", None, ["night"], by=BY)
    before = [(await agents.load(workspace_id, each)).tokens for each in (governed, other.id)]
    await sets.put(workspace_id, owner, [entry()], by=BY)
    after = [(await agents.load(workspace_id, each)).tokens for each in (governed, other.id)]
    assert after[0] != before[0]
    assert (after[1] == before[1]) == (owner != WORKSPACE)  # the workspace's govern it, too


async def test_an_impossible_set_is_refused_and_writes_nothing(client, ids, agents, agent, workspace_id, owner):
    """Limits of owner and workspace, another owner's policy, a revoked key, a deleted agent."""
    limits = WorkspaceLimits(
        policies_per_agent=2,
        policies_per_group=2,
        rate_limits_per_agent=1,
        rate_limits_per_group=1,
        rules_bytes_per_agent=400,
        rules_bytes_per_group=400,
        policies=3,
    )
    sets, policies = parts.policy_sets(client, ids, limits), parts.policies(client, ids)
    other = await policies.create(workspace_id, Owner(group="elsewhere"), PolicyFields(name="o", rules=(LIST,)), by=BY)
    await sets.put(workspace_id, owner, [entry("a", [LIMIT])], by=BY)
    before = await everything(client, f"remit:{{{workspace_id}}}:*")

    long = ToolAllowlist(tools=["x" * 200, "y" * 200])
    for entries, error, words in (
        ([entry("b"), entry("c")], LimitReached, r"as many policies .*\(2\)"),  # the owner's limit
        ([entry("b", [OTHER_LIMIT])], LimitReached, "1 rate limits"),
        ([entry("b", [long])], LimitReached, "400 bytes"),
        ([entry("b", id=other.id)], PolicyNotFound, r"policies\[0\].id"),
    ):
        with pytest.raises(error, match=words):
            await sets.put(workspace_id, owner, entries, by=BY)
    with pytest.raises(Unauthorized):
        await sets.put(workspace_id, owner, [entry("b")], by=by_key(ids.new(0)))
    with pytest.raises(AgentNotFound):
        await sets.put(workspace_id, Owner(ids.new(0)), [entry("b")], by=BY)
    assert await everything(client, f"remit:{{{workspace_id}}}:*") == before

    await policies.create(workspace_id, Owner(group="elsewhere"), PolicyFields(name="o", rules=(LIST,)), by=BY)
    with pytest.raises(LimitReached, match=r"The workspace has as many policies as it may have \(3\)"):
        await sets.put(workspace_id, owner, [entry("b")], by=BY)
    exchanged = await sets.put(workspace_id, owner, [entry("b", [OTHER_LIMIT])], prune=True, by=BY)
    assert shown(exchanged.applied.policies) == [("b", 0, 1)]


async def test_counts_after_a_set_equal_those_after_single_changes(sets, policies, client, workspace_id, owner):
    """However the same policies came about, the owner has the same room left."""
    keyspace = Keyspace(workspace_id)

    async def counts():
        held = await everything(client, f"remit:{{{workspace_id}}}:*")
        found = []
        for name, (kind, value) in held.items():
            if kind == "hash" and name != keyspace.commits:
                record = as_record(value)
                if "rate_limits" in record and "rules" not in record:
                    found.append((record["rate_limits"], record["rules_bytes"]))
        return found

    await sets.put(workspace_id, owner, [entry("a", [LIMIT, LIST]), entry("b", [OTHER_LIMIT]), entry("c")], by=BY)
    await sets.put(workspace_id, owner, [entry("b", [LIST]), entry("d", [LIMIT, OTHER_LIMIT])], by=BY)
    by_sets = await counts()
    by_id = {each.name: each.id for each in (await sets.get(workspace_id, owner)).policies}
    await policies.delete(workspace_id, by_id["d"], by=BY)
    fields = PolicyFields(name="d", rules=(LIMIT, OTHER_LIMIT), kind=PolicyKind.GUARDRAIL)
    await policies.create(workspace_id, owner, fields, by=BY)
    assert await counts() == by_sets != []


async def test_a_set_larger_than_lua_can_unpack_at_once_is_written(sets, workspace_id, owner):
    """With as many policies as a body may have."""
    entries = [entry(str(number), priority=number % 7) for number in range(500)]
    done = await sets.put(workspace_id, owner, entries, by=BY)
    assert await sets.get(workspace_id, owner) == done.applied
    assert len(done.applied.policies) == 500
    emptied = await sets.put(workspace_id, owner, [], prune=True, by=BY)
    assert emptied.applied.policies == []


async def test_an_agent_that_is_being_deleted_takes_no_set(sets, agents, client, agent, workspace_id):
    """The deletion takes precedence, however often its policies are written."""
    record = Keyspace(workspace_id).agent(agent.id)
    now_s, now_us = map(int, await client.call("TIME"))
    await client.call("HSET", record, "frozen_until_ms", now_s * 1000 + now_us // 1000 + 1000)
    frozen = asyncio.create_task(sets.put(workspace_id, Owner(agent.id), [entry()], by=BY))
    done, _ = await asyncio.wait({frozen}, timeout=0.05)
    assert not done
    await client.call("HDEL", record, "frozen_until_ms")
    assert shown((await frozen).applied.policies) == [("p", 0, 1)]


async def test_a_store_that_goes_on_changing_is_given_up(sets, policies, client, agent, workspace_id, monkeypatch):
    """After the usual number of attempts."""

    async def run(script, keys, args, *, as_bytes=False):
        return ["stale", 0]

    monkeypatch.setattr(client, "run", _only(client.run, run))
    with pytest.raises(StoreUnavailable, match="8 times"):
        await sets.put(workspace_id, Owner(agent.id), [entry()], by=BY)


def _only(real, put):
    async def run(script, keys, args, **options):
        return await (put if script.name == "put_policies" else real)(script, keys, args, **options)

    return run
