"""Sets of policies in the store: read at one moment, written in one step or not at all."""

import asyncio

import msgspec
import pytest
from commit_scene import everything

from app.errors import AgentNotFound, LimitReached, PolicyNotFound, StoreUnavailable, Unauthorized, VersionConflict
from app.model.api_keys import Scope
from app.model.changes import ChangeKind, ChangeQuery
from app.model.constraints import Constraint
from app.model.policies import WORKSPACE, Owner, PolicyChanges, PolicyFields, PolicyKind, evaluation_order
from app.model.policy_sets import NO_VERSION, PolicyEntry
from app.model.quotas import RateLimit
from app.model.rules import ParameterConstraint, RateLimited, ToolAllowlist, ToolDenylist
from app.redis_client.replies import as_record
from app.store.changes import Changes
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.policy_records import quota_keys
from tests.support import parts
from tests.support.actors import BY, by_key

LIST = ToolAllowlist(tools=["file.*"])
LIMIT = RateLimited(tools=["file.*"], rate_limit=RateLimit(5, 60))
OTHER_LIMIT = RateLimited(tools=["mail.*"], rate_limit=RateLimit(5, 60))
GUARD = {"name": "g", "kind": PolicyKind.GUARDRAIL, "rules": [ToolDenylist(tools=["rm"])]}


@pytest.fixture(params=["agent", "group", "workspace"])
async def owner(request, agent):
    """The owner of the policies."""
    return {"agent": Owner(agent.id), "group": Owner(group="crew"), "workspace": WORKSPACE}[request.param]


def entry(name="p", rules=(LIST,), **fields):
    return PolicyEntry(name=name, rules=tuple(rules), kind=fields.pop("kind", PolicyKind.GUARDRAIL), **fields)


def shown(policies):
    return [(each.name, each.priority, each.version) for each in policies]


async def test_a_set_is_read_as_it_was_written(sets, policies, workspace_id, owner):
    """In evaluation order; the answer to the write, the set, and each policy by itself agree."""
    entries = [entry("low"), entry("high", priority=9), entry("off", enabled=False), entry("limited", [LIMIT])]

    done = await sets.put(workspace_id, owner, entries, by=BY)

    assert shown(done.applied.policies) == [("high", 9, 1), ("low", 0, 1), ("off", 0, 1), ("limited", 0, 1)]
    assert await sets.get(workspace_id, owner) == done.applied
    assert [await policies.get(workspace_id, each.id) for each in done.applied.policies] == done.applied.policies
    assert [change.kind for change in done.changes] == ["created"] * 4
    assert {each.updated_ms - each.created_ms for each in done.applied.policies} == {0}
    assert evaluation_order(done.applied.policies) == await policies.list_page(workspace_id)


async def test_a_set_that_was_read_can_be_sent_back_unchanged(sets, client, workspace_id, owner):
    """Neither the stored bytes nor the version change."""
    done = await sets.put(workspace_id, owner, [entry("a"), entry("b", [LIMIT], priority=3)], by=BY)
    before = await everything(client, f"remit:{{{workspace_id}}}:*")

    again = [
        PolicyEntry(id=each.id, name=each.name, rules=list(each.rules), kind=each.kind, priority=each.priority)
        for each in done.applied.policies
    ]
    for entries in (again, [entry("a"), entry("b", [LIMIT], priority=3)]):
        same = await sets.put(workspace_id, owner, entries, prune=True, by=BY)
        assert same.applied == done.applied
        assert [change.kind for change in same.changes] == ["kept"] * 2
    assert await everything(client, f"remit:{{{workspace_id}}}:*") == before


async def test_entries_change_the_policies_they_name(sets, workspace_id, owner):
    """By id, whatever their name; without an id, by name. Other policies stay, or are pruned."""
    first = await sets.put(workspace_id, owner, [entry("a"), entry("b"), entry("c")], by=BY)
    a, b, c = first.applied.policies

    done = await sets.put(workspace_id, owner, [entry("renamed", id=a.id), entry("b", priority=5), entry("new")], by=BY)
    by_id = {each.id: each for each in done.applied.policies}
    assert (by_id[a.id].name, by_id[b.id].priority, by_id[c.id]) == ("renamed", 5, c)
    assert by_id[a.id].created_ms == a.created_ms
    assert by_id[a.id].updated_ms > a.updated_ms
    assert sorted(shown(done.applied.policies)) == [("b", 5, 2), ("c", 0, 1), ("new", 0, 1), ("renamed", 0, 2)]
    assert done.applied.version != first.applied.version

    done = await sets.put(workspace_id, owner, [entry("b", priority=5)], prune=True, by=BY)
    assert [each.id for each in done.applied.policies] == [b.id]
    assert sorted(change.kind for change in done.changes) == ["deleted"] * 3 + ["kept"]


async def test_of_several_policies_with_one_name_matching_ones_stay(sets, workspace_id, owner):
    """Names need not be unique: writing them again in another order changes nothing."""
    entries = [entry("p", [LIST]), entry("p", [LIMIT]), entry("p", [OTHER_LIMIT])]
    first = await sets.put(workspace_id, owner, entries, by=BY)

    again = await sets.put(workspace_id, owner, entries[::-1], prune=True, by=BY)
    assert again.applied == first.applied

    changed = await sets.put(workspace_id, owner, [entry("p", [OTHER_LIMIT]), entry("p", [LIST], priority=1)], by=BY)
    assert sorted(shown(changed.applied.policies)) == [("p", 0, 1), ("p", 0, 1), ("p", 1, 2)]


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


async def test_buckets_survive_if_tools_and_window_do(sets, client, agent, workspace_id):
    """As with PATCH: a new maximum or effect keeps the calls; removing or pruning a rule drops them."""
    done = await sets.put(workspace_id, Owner(agent.id), [entry("a", [LIMIT, OTHER_LIMIT]), entry("b", [LIMIT])], by=BY)
    keyspace = Keyspace(workspace_id)
    first, second, third = (
        name for each in done.applied.policies for name in quota_keys(keyspace, each.id, each.rules)
    )
    for name in (first, second, third):
        await client.call("RPUSH", name, "1")

    raised = RateLimited(tools=["file.*"], rate_limit=RateLimit(50, 60))
    await sets.put(workspace_id, Owner(agent.id), [entry("a", [LIST, raised], priority=7)], prune=True, by=BY)

    assert [await client.call("EXISTS", name) for name in (first, second, third)] == [1, 0, 0]


async def test_the_trail_has_each_change(sets, client, ids, agent, workspace_id):
    """I13: in order, by the key that asked; unchanged policies are not in it."""
    key, _ = await parts.api_keys(client, ids).create(workspace_id, "deploy", (Scope.POLICIES,), by=BY)
    first = await sets.put(workspace_id, Owner(agent.id), [entry("a"), entry("b"), entry("c")], by=BY)
    a, b, _ = first.applied.policies
    entries = [entry("a", priority=1), entry("c"), entry("d")]
    done = await sets.put(workspace_id, Owner(agent.id), entries, prune=True, by=by_key(key.id))

    page = await Changes(client).query(workspace_id, ChangeQuery(actor_id=key.id))
    d = next(each.id for each in done.applied.policies if each.name == "d")
    assert [(each.kind, each.resource_id) for each in page.changes[::-1]] == [
        (ChangeKind.UPDATED, a.id),
        (ChangeKind.CREATED, d),
        (ChangeKind.DELETED, b.id),
    ]
    updated = page.changes[-1]
    assert msgspec.json.decode(updated.before) == {"priority": 0, "version": 1}
    assert msgspec.json.decode(updated.after) == {"priority": 1, "version": 2}
    assert {each.actor_name for each in page.changes} == {"deploy"}


async def test_of_two_concurrent_sets_one_is_refused(sets, client, workspace_id, owner):
    """Both name the version that they have read; the refused one has written nothing."""
    before = (await sets.put(workspace_id, owner, [entry("a")], by=BY)).applied

    async def put(name):
        try:
            return await sets.put(
                workspace_id, owner, [entry(name)], prune=True, if_match=frozenset({before.version}), by=BY
            )
        except VersionConflict:
            return None

    done = [each for each in await asyncio.gather(*map(put, "bcde")) if each is not None]
    assert len(done) == 1
    assert await sets.get(workspace_id, owner) == done[0].applied
    trail = await Changes(client).query(workspace_id, ChangeQuery())
    assert len([each for each in trail.changes if each.resource_type == "policy"]) == 3


async def test_without_if_match_all_of_many_at_once_are_made(sets, workspace_id, agent):
    """One after the other; the last one stays."""
    done = await asyncio.gather(
        *(sets.put(workspace_id, Owner(agent.id), [entry(name)], prune=True, by=BY) for name in "abcd")
    )
    now = await sets.get(workspace_id, Owner(agent.id))
    assert now in [each.applied for each in done]
    assert len(now.policies) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda policies, workspace, owner: policies.create(
            workspace, owner, PolicyFields(name="x", rules=(LIST,), kind=PolicyKind.GUARDRAIL), by=BY
        ),
        lambda policies, workspace, owner: _touch(policies, workspace),
        lambda policies, workspace, owner: _drop(policies, workspace),
    ],
    ids=["created", "updated", "deleted"],
)
async def test_a_policy_that_changed_by_itself_moves_the_version(sets, policies, workspace_id, owner, change):
    """So a set read earlier cannot overwrite it."""
    read = (await sets.put(workspace_id, owner, [entry("a"), entry("b")], by=BY)).applied
    await change(policies, workspace_id, owner)
    held = await sets.get(workspace_id, owner)
    with pytest.raises(VersionConflict, match=held.version):
        await sets.put(workspace_id, owner, [entry("a")], prune=True, if_match=frozenset({read.version}), by=BY)
    assert await sets.get(workspace_id, owner) == held


async def _touch(policies, workspace_id):
    [policy, *_] = await policies.list_page(workspace_id)
    await policies.update(workspace_id, policy.id, PolicyChanges(priority=8), by=BY)


async def _drop(policies, workspace_id):
    [policy, *_] = await policies.list_page(workspace_id)
    await policies.delete(workspace_id, policy.id, by=BY)


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
        ([entry("b"), entry("c")], LimitReached, "as many policies"),
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
