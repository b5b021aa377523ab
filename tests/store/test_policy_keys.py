"""Keys of policies: one policy of an owner has one at a time, whoever writes it and however many at once."""

import pytest

from app.errors import AgentNotFound, PolicyNotFound
from app.model.policies import WORKSPACE, Owner, PolicyFields, PolicyKind
from app.model.policy_keys import is_key, require_key
from app.model.rules import ToolAllowlist, ToolDenylist
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


async def test_a_policy_key_of_an_unknown_agent_is_not_found(policies, workspace_id, ids):
    """The error is that the agent does not exist."""
    with pytest.raises(AgentNotFound):
        await policies.create(workspace_id, Owner(ids.new(0)), PolicyFields(name="p", rules=LIST, key="x"), by=BY)
