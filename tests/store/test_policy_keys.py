"""Keys of policies: one policy of an owner has one at a time, whoever writes it and however many at once."""

import asyncio

import pytest

from app.errors import AgentNotFound, PolicyKeyTaken, PolicyNotFound
from app.model.policies import WORKSPACE, Owner, Policy, PolicyChanges, PolicyFields, PolicyKind
from app.model.policy_keys import is_key, require_key
from app.model.policy_sets import PolicyEntry
from app.model.quotas import RateLimit
from app.model.rules import RateLimited, ToolAllowlist, ToolDenylist
from app.model.text import FieldError
from tests.support.actors import BY

LIST = (ToolAllowlist(tools=["file.*"]),)
GUARD = (ToolDenylist(tools=["rm"]),)


@pytest.mark.parametrize("key", ["a", "refunds.small", "x@y:z-1_", ".x", "k" * 128])
def test_names_that_programs_use_are_keys(key):
    require_key("key", key)


@pytest.mark.parametrize(
    "key",
    ["", "k" * 129, "a/b", "a b", ".", "..", "ä", "018bcfe5-6800-7000-8000-00000000cafe", f"svc_{'0' * 32}"],
)
def test_a_string_that_could_be_a_path_or_an_id_is_not_an_alias(key):
    with pytest.raises(FieldError):
        require_key("key", key)
    assert not is_key(key)


async def test_a_policy_is_found_by_its_key_among_its_owners(policies, agents, agent, workspace_id):
    """Different owners may use the same key."""
    other = await agents.create(workspace_id, "b", None, by=BY)
    owners = [Owner(agent.id), Owner(other.id), Owner(group="crew"), WORKSPACE]
    made = [
        await policies.create(
            workspace_id,
            owner,
            PolicyFields(name="n", rules=GUARD, kind=PolicyKind.GUARDRAIL, key="refunds"),
            by=BY,
        )
        for owner in owners
    ]
    for owner, policy in zip(owners, made, strict=True):
        assert await policies.id_of(workspace_id, "refunds", owner) == policy.id
        assert await policies.get(workspace_id, policy.id) == policy
        assert policy.key == "refunds"
        with pytest.raises(PolicyNotFound):
            await policies.id_of(workspace_id, "refund", owner)
    with pytest.raises(PolicyNotFound):
        await policies.id_of(workspace_id, "refunds", Owner(group="another"))
    assert [each async for each in policies.each(workspace_id, Owner(group="crew"), key="refunds")] == [made[2]]
    assert len([each async for each in policies.each(workspace_id, key="refunds")]) == 4


async def test_only_one_policy_of_an_owner_can_have_a_key(policies, agent, workspace_id):
    """A change or the policy's deletion frees it; a refused write leaves nothing behind."""
    first = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="a", rules=LIST, key="x"), by=BY)
    second = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="b", rules=LIST), by=BY)
    with pytest.raises(PolicyKeyTaken, match='"x"'):
        await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="c", rules=LIST, key="x"), by=BY)
    with pytest.raises(PolicyKeyTaken):
        await policies.update(workspace_id, second.id, PolicyChanges(key="x", name="c"), by=BY)
    assert await policies.list_page(workspace_id, Owner(agent.id)) == [first, second]

    assert (await policies.update(workspace_id, first.id, PolicyChanges(name="d"), by=BY)).key == "x"
    assert (await policies.update(workspace_id, first.id, PolicyChanges(key="x"), by=BY)).key == "x"
    assert (await policies.update(workspace_id, first.id, PolicyChanges(key=None), by=BY)).key is None
    assert (await policies.update(workspace_id, second.id, PolicyChanges(key="x"), by=BY)).key == "x"
    await policies.delete(workspace_id, second.id, by=BY)
    assert (await policies.update(workspace_id, first.id, PolicyChanges(key="x"), by=BY)).key == "x"


@pytest.mark.parametrize("group", [None, "crew"])
async def test_of_many_policies_that_want_one_key_at_once_one_gets_it(policies, sets, agent, workspace_id, group):
    """On creation, on change and in a set."""
    owner = Owner(agent.id) if group is None else Owner(group=group)
    held = [await policies.create(workspace_id, owner, PolicyFields(name=str(n), rules=LIST), by=BY) for n in range(2)]
    for number in range(10):
        key = f"key{number}"
        outcomes = await asyncio.gather(
            *(policies.update(workspace_id, each.id, PolicyChanges(key=key), by=BY) for each in held),
            policies.create(workspace_id, owner, PolicyFields(name="new", rules=LIST, key=key), by=BY),
            sets.put(workspace_id, owner, [PolicyEntry(name=f"set{number}", rules=LIST, key=key)], by=BY),
            return_exceptions=True,
        )
        wrong = [each for each in outcomes if isinstance(each, Exception) and not isinstance(each, PolicyKeyTaken)]
        assert not wrong
        having = [each.id async for each in policies.each(workspace_id, owner, key=key)]
        assert len(having) == 1


async def test_a_policy_key_of_an_unknown_agent_is_not_found(policies, workspace_id, ids):
    """The error is that the agent does not exist."""
    with pytest.raises(AgentNotFound):
        await policies.create(workspace_id, Owner(ids.new(0)), PolicyFields(name="p", rules=LIST, key="x"), by=BY)


async def test_an_entry_of_a_set_is_the_policy_of_its_key(policies, sets, agent, workspace_id):
    """Whatever their names; its rate limit keeps its calls, because it is the same policy."""
    limit = RateLimited(tools=["*"], rate_limit=RateLimit(5, 60))
    keyed = await policies.create(
        workspace_id, Owner(agent.id), PolicyFields(name="old name", rules=(limit,), key="x"), by=BY
    )
    named = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="same", rules=LIST), by=BY)
    entries = [
        PolicyEntry(name="new name", rules=(limit,), key="x"),
        PolicyEntry(name="same", rules=LIST, key="y"),
        PolicyEntry(name="same", rules=LIST, key="z"),
    ]
    done = await sets.put(workspace_id, Owner(agent.id), entries, by=BY)
    kinds = {change.policy.key: (change.kind, change.policy.id) for change in done.changes}
    assert kinds["x"] == ("updated", keyed.id)
    assert kinds["y"] == ("updated", named.id)
    assert kinds["z"][0] == "created"
    again = await sets.put(workspace_id, Owner(agent.id), entries, by=BY)
    assert [change.kind for change in again.changes] == ["kept"] * 3
    assert {each.key: each.name for each in await policies.list_page(workspace_id, Owner(agent.id))} == {
        "x": "new name",
        "y": "same",
        "z": "same",
    }


async def test_a_set_cannot_reuse_the_key_of_a_policy_that_stays(policies, sets, agent, workspace_id):
    """Unless it is pruned; two policies may exchange keys."""
    first = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="a", rules=LIST, key="x"), by=BY)
    second = await policies.create(workspace_id, Owner(agent.id), PolicyFields(name="b", rules=LIST, key="y"), by=BY)
    taking = [PolicyEntry(id=second.id, name="b", rules=LIST, key="x")]
    with pytest.raises(PolicyKeyTaken, match="stays"):
        await sets.put(workspace_id, Owner(agent.id), taking, by=BY)
    swapped = [
        PolicyEntry(id=first.id, name="a", rules=LIST, key="y"),
        PolicyEntry(id=second.id, name="b", rules=LIST, key="x"),
    ]
    done = await sets.put(workspace_id, Owner(agent.id), swapped, by=BY)
    assert {each.id: each.key for each in done.applied.policies} == {first.id: "y", second.id: "x"}
    pruned = await sets.put(
        workspace_id, Owner(agent.id), [PolicyEntry(id=first.id, name="a", rules=LIST, key="x")], prune=True, by=BY
    )
    assert [(each.id, each.key) for each in pruned.applied.policies] == [(first.id, "x")]
    assert isinstance(await policies.get(workspace_id, first.id), Policy)
