"""Random histories over three replicas on one store; a naive model checks every answer."""

import random

import pytest
from approvals_world import Clock, Clocked, World

from app.redis_client.clients import open_client

STEPS = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
async def test_ten_thousand_random_steps_are_answered_as_the_model_says(valkey_store, workspace_id, seed):
    """No approval is used twice, lost, or usable after its basis is gone."""
    chance, clock = random.Random(seed), Clock()
    raw = open_client(valkey_store.url, 2_000)
    client = Clocked(raw, clock)
    world = await World(client, clock, chance, workspace_id).enter()
    try:
        acts = world.acts()
        for act in chance.choices(list(acts), list(acts.values()), k=STEPS):
            await act()
        await world.check()
    finally:
        await raw.close()
    for kind in ("allowed with", "escalated with", "approved: approved", "approved: ApprovalDecided", "races", "ended"):
        assert world.seen[kind] > 20, world.seen
