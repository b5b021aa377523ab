"""Receivers that never answer delay only the events of their own workspace."""

import asyncio

import pytest
from receivers import subscribe
from tenants import Tenant

from app.webhooks.delivery import Attempt
from app.webhooks.sender import Sender

WEBHOOKS = 20
AT_ONCE = 8
DELIVERED = Attempt(delivered=True, status=204, error="", milliseconds=1)


class Hanging:
    """Deliveries to some workspaces never end. held: how many are on their way."""

    def __init__(self, workspace_ids):
        self._workspace_ids = workspace_ids
        self.held, self.came, self.delivered = 0, asyncio.Condition(), []

    async def send(self, workspace_id, webhook, event_id, body):
        async with self.came:
            self.held += workspace_id in self._workspace_ids
            self.delivered += [workspace_id] * (workspace_id not in self._workspace_ids)
            self.came.notify_all()
        if workspace_id in self._workspace_ids:
            await asyncio.Event().wait()
        return DELIVERED

    async def wait_until(self, claim):
        async with asyncio.timeout(30), self.came:
            await self.came.wait_for(claim)


@pytest.fixture
def hostile(store, silent):
    """Two workspaces with more webhooks than any bound on all deliveries together allowed for."""
    made = [Tenant(store.url, silent) for _ in range(2)]
    yield made
    for each in made:
        each.close()


def test_hanging_receivers_delay_only_their_own_workspace(tenant, hostile, receiver):
    """However many there are; each workspace has a few deliveries at a time."""
    for each in (*hostile, tenant):
        for _ in range(1 if each is tenant else WEBHOOKS):
            subscribe(each, receiver.url)

    def happen(each):
        each.admin.patch(f"/v1/agents/{each.new_agent()['id']}", json={"status": "suspended"})

    for each in hostile:
        happen(each)

    async def serve(client):
        delivery = Hanging({each.id for each in hostile})
        sender = Sender(client, delivery, 1000)
        try:
            await sender.look(asyncio.Event())
            await delivery.wait_until(lambda: delivery.held >= AT_ONCE * len(hostile))
            await asyncio.to_thread(happen, tenant)
            for _ in range(2):
                await sender.look(asyncio.Event())
            await delivery.wait_until(lambda: tenant.id in delivery.delivered)
        finally:
            await sender.stop()
        return delivery.held

    assert tenant.in_store(serve) == AT_ONCE * len(hostile)
