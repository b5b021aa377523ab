"""How much waits for people, and for how long, as /metrics reports it."""

import pytest
from approval_steps import ALLOW, ASK, SECRET, ask
from fake_store import FakeClient
from servers import Replica
from tenants import Tenant

from app.approvals.waiting import FRESH_SECONDS, Waiting, WaitingWatch
from app.model.ids import Ids
from app.redis_client.clients import store_time_ms
from app.store.keyspace import WORKSPACES, keyspace_of


@pytest.fixture
async def client():
    """A store with nothing but what the test puts there."""
    opened = FakeClient()
    yield opened
    await opened.close()


async def put_approval(client, workspace: str, age_s: int, status: str = "pending", left_s: int = 900) -> str:
    """An approval of this age, which is open for so long."""
    now_ms, keyspace = await store_time_ms(client), keyspace_of(workspace)
    approval_id = Ids().new(now_ms - age_s * 1000)
    await client.call("HSET", WORKSPACES, workspace, workspace)
    await client.call("HSET", keyspace.approval(approval_id), "status", status)
    await client.call("ZADD", keyspace.approvals_open, now_ms + left_s * 1000, approval_id)
    return approval_id


async def test_pending_approvals_of_all_workspaces_are_counted_with_the_age_of_the_oldest(client):
    """Not those that are approved, expired, or whose record is gone; and of more than are read at once."""
    assert await WaitingWatch(client).look() == Waiting()
    for number in range(70):
        await put_approval(client, f"w{number % 3}", 30)
    await put_approval(client, "w1", 100)
    await put_approval(client, "w2", 500, "approved")
    await put_approval(client, "w2", 500, left_s=-1)
    gone = await put_approval(client, "w2", 500)
    await client.call("DEL", keyspace_of("w2").approval(gone))
    waiting = await WaitingWatch(client).look()
    assert waiting.approvals == 71
    assert 100 <= waiting.oldest_seconds < 110


async def test_changes_of_policies_that_wait_are_counted_apart(client):
    """Not those that have expired; of all workspaces, with the age of the oldest."""
    now_ms = await store_time_ms(client)
    for workspace, age_s, left_s in (("w1", 90_000, 60), ("w2", 30, 60), ("w2", 700_000, -1)):
        await client.call("HSET", WORKSPACES, workspace, workspace)
        member = f"root {Ids().new(now_ms - age_s * 1000)}"
        await client.call("ZADD", keyspace_of(workspace).policy_reviews_waiting, now_ms + left_s * 1000, member)
    waiting = await WaitingWatch(client).look()
    assert (waiting.approvals, waiting.oldest_seconds, waiting.reviews) == (0, 0.0, 2)
    assert 90_000 <= waiting.oldest_review_seconds < 90_010


@pytest.mark.parametrize("member", ["zzz", "", "a b", b"\xff"])
async def test_what_remit_did_not_add_is_not_counted(client, member):
    """Somebody's ZADD takes the metrics from no operator."""
    keyspace = keyspace_of("w")
    await put_approval(client, "w", 100)
    now_ms = await store_time_ms(client)
    for name in (keyspace.policy_reviews_waiting, keyspace.approvals_open):
        await client.call("ZADD", name, now_ms + 60_000, member)
    waiting = await WaitingWatch(client).look()
    assert (waiting.approvals, waiting.reviews, waiting.oldest_review_seconds) == (1, 0, 0.0)


async def test_they_are_counted_every_few_seconds_at_most(client):
    """However often somebody without a key asks for the metrics."""
    time = [0.0]
    watch = WaitingWatch(client, now=lambda: time[0])
    assert (await watch.look()).approvals == 0
    await put_approval(client, "w", 1)
    time[0] = FRESH_SECONDS - 0.1
    assert (await watch.look()).approvals == 0
    time[0] = FRESH_SECONDS
    assert (await watch.look()).approvals == 1


def test_the_metrics_name_neither_workspace_nor_agent_but_say_that_a_call_waits(store):
    """One replica that nobody has asked before: the reading is kept for a while."""
    replica = Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false")
    tenant = Tenant(store.url, replica)
    try:
        agent_id = tenant.new_agent()["id"]
        tenant.new_policy(agent_id, ALLOW, ASK)
        ask(tenant, agent_id)
        samples = dict(line.rsplit(" ", 1) for line in tenant.reader.get("/metrics").text.splitlines())
        assert int(samples["remit_approvals_waiting"]) >= 1
        assert float(samples["remit_approvals_oldest_seconds"]) >= 0
    finally:
        tenant.close()
        replica.stop()
