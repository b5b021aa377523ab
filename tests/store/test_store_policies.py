"""Policies in the store."""

import asyncio

import pytest

from app.errors import StoreUnavailable
from app.model.constraints import Constraint
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.quotas import RateLimit
from app.model.rules import ParameterConstraint, RateLimited, TimeBased, ToolAllowlist
from app.model.time_windows import TimeWindow
from app.store.policies import ATTEMPTS
from tests.support import parts
from tests.support.actors import BY

LIST = ToolAllowlist(tools=["file.*"])
LIMIT = RateLimited(tools=["file.*", "mail.send"], rate_limit=RateLimit(max_calls=5, window_seconds=60))
RULES = (
    LIST,
    ParameterConstraint(tools=["*"], parameters={"näme.ö": Constraint(regex='^"\\d+$', enum=[1, "1", None, True])}),
    LIMIT,
    TimeBased(tools=["*"], time_window=TimeWindow(allowed_hours=[9, 10], timezone="Europe/Paris")),
)


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
