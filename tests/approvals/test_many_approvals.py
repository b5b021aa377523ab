"""Many approvals: a page reads a bounded number of them, and a slow reader of the stream loses none."""

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace

import pytest
from approval_steps import ALLOW, ASK, ask

from app.approvals.approvals import Approvals
from app.approvals.following import ApprovalFollower
from app.approvals.records import drop_old_ids
from app.errors import ApprovalNotFound
from app.http.api import approval_stream
from app.model.approvals import ApprovalQuery, ApprovalStatus
from app.model.ids import Ids
from app.redis_client.blocking import BlockingReader
from app.redis_client.clients import open_client
from app.store.keyspace import Keyspace

MANY, DAY_MS = 100_000, 24 * 3600 * 1000


class Counting:
    """A client that counts the records it reads."""

    def __init__(self, client):
        self._client, self.read = client, 0

    async def read_pipelined(self, commands):
        commands = list(commands)
        self.read += len(commands)
        return await self._client.read_pipelined(commands)

    def __getattr__(self, name):
        return getattr(self._client, name)


@pytest.fixture
async def client(valkey_store):
    client = open_client(valkey_store.url, 5_000)
    yield client
    await client.close()


async def test_a_page_reads_a_thousand_approvals_of_a_hundred_thousand_at_most(client):
    """Whatever it filters by, and although no record is left; those listed long enough leave the list."""
    ids, workspace_id, counting = Ids(), Ids().new(1), Counting(client)
    keyspace, now_ms = Keyspace(workspace_id), 1_800_000_000_000
    old, recent = ([ids.new(now_ms - days * DAY_MS) for _ in range(MANY // 2)] for days in (61, 59))
    for start in range(0, MANY, 5_000):
        some = (old + recent)[start : start + 5_000]
        await client.call("ZADD", keyspace.approvals, *(each for approval_id in some for each in (0, approval_id)))
    approvals = Approvals(counting, ids, 1 << 30)
    for filters in ({}, {"status": (ApprovalStatus.DENIED,)}, {"tool_name": "t"}, {"agent_id": ids.new(1)}):
        counting.read = 0
        page, before = await approvals.page(workspace_id, ApprovalQuery(**filters))
        assert (page, before in recent, counting.read) == ([], True, pytest.approx(1_000, abs=128))
    counting.read = 0
    assert await approvals.page(workspace_id, ApprovalQuery(status=(ApprovalStatus.PENDING,))) == ([], None)
    assert counting.read <= 128
    await drop_old_ids(client, keyspace, now_ms)
    assert await client.call("ZRANGE", keyspace.approvals, 0, -1) == sorted(recent)


@pytest.mark.parametrize("many", [1_500, 12_000])
async def test_a_slow_reader_of_the_stream_is_told_everything_that_the_store_has(client, valkey_store, many):
    """In order and once; and told so, if the store has dropped some."""
    workspace_id, stopping = Ids().new(1), asyncio.Event()
    name = Keyspace(workspace_id).approval_events
    follower = ApprovalFollower(BlockingReader(valkey_store.url), stopping)

    @asynccontextmanager
    async def on(_raw_key, _wake):
        yield SimpleNamespace(error=None)

    async def get(*_):
        raise ApprovalNotFound("No record is needed here")

    async def still_valid(*_):
        return None

    services = SimpleNamespace(
        streams=SimpleNamespace(callers=SimpleNamespace(on=on), approval_follower=follower, stopping=stopping),
        records=SimpleNamespace(approvals=SimpleNamespace(get=get)),
        decisions=SimpleNamespace(authenticator=SimpleNamespace(still_valid=still_valid)),
    )
    caller = SimpleNamespace(workspace_id=workspace_id, key_id="k")
    message = partial(approval_stream._whole, services, workspace_id)
    messages = approval_stream._messages(services, caller, "svc_", None, asyncio.Event(), message)
    assert await anext(messages) == b": listening\n\n"
    added = []
    for start in range(0, many, 500):
        added += await client.read_pipelined(
            ("XADD", name, "MAXLEN", "10000", "*", "id", str(number), "status", "pending")
            for number in range(start, start + 500)
        )
    got, lost = [], 0
    async with asyncio.timeout(60):
        async for message in messages:
            lost += message.startswith(b"event: lost")
            if message.startswith(b"id: "):
                got.append(message[4:].decode().strip())
            if got and got[-1] == added[-1]:
                break
    await messages.aclose()
    await follower.close()
    assert (got == added, lost) == (True, 0) if many <= 10_000 else (got, lost > 0) == (added[-len(got) :], True)
    assert len(got) >= min(many, 10_000)


def test_brief_events_have_the_id_and_nothing_of_the_call(tenant, agent_id):
    """Those that had been missed, too."""
    with tenant.admin.stream("GET", "/v1/approvals/stream?brief=true") as answer:
        events = (line for line in answer.iter_lines() if line.startswith(("event: ", "data: ")))
        asked = ask(tenant, agent_id)["approval"]["id"]
        assert [next(events), next(events)] == ["event: pending", f'data: {{"id":"{asked}"}}']
    with tenant.admin.stream("GET", "/v1/approvals/stream?brief=true", headers={"Last-Event-ID": "0-0"}) as answer:
        told = (line for line in answer.iter_lines() if line.startswith("data: "))
        assert f'data: {{"id":"{asked}"}}' in (next(told) for _ in range(1000))


def test_an_event_that_the_store_never_had_is_said_to_be_lost_and_hides_no_later_one(tenant, agent_id):
    """As if the store had been restored from a backup since the client was sent it."""
    headers = {"Last-Event-ID": "999999999999999-0"}
    with tenant.admin.stream("GET", "/v1/approvals/stream", headers=headers) as answer:
        events = (line for line in answer.iter_lines() if line.startswith("event: "))
        assert next(events) == "event: lost"
        ask(tenant, agent_id)
        assert next(events) == "event: pending"


def test_lists_are_filtered_by_tool_and_several_statuses(tenant, agent_id, person):
    """Comma-separated; to name one twice says the same."""
    other = tenant.new_agent()["id"]
    tenant.new_policy(other, {**ALLOW, "tools": ["*"]}, {**ASK, "tools": ["*"]})
    denied, cancelled, pending = (ask(tenant, agent_id, amount)["approval"]["id"] for amount in range(3))
    another = tenant.authorize(other, "mail.send")["approval"]["id"]
    person.post(f"/v1/approvals/{denied}/deny", json={}).raise_for_status()
    tenant.reader.post(f"/v1/approvals/{cancelled}/cancel", json={}).raise_for_status()

    def listed(**wanted):
        return [each["id"] for each in person.get("/v1/approvals", params=wanted).json()]

    assert listed(status="denied,cancelled") == [cancelled, denied]
    assert listed(status="pending,denied", tool_name="refund.create") == [pending, denied]
    assert listed(status="pending,approved", toolName="mail.send") == [another]
    assert listed(status="denied,cancelled,denied") == [cancelled, denied]
    for wrong in ("", "denied,", "open", "denied, cancelled"):
        answer = person.get("/v1/approvals", params={"status": wrong})
        assert (answer.status_code, answer.json()["error"]["details"][0]["path"]) == (400, "status")


async def test_stale_ids_do_not_count_as_open_approvals_of_the_agent(tenant, agent_id, store):
    """Left by a compactor that was killed, or by another program."""
    client = open_client(store.url, 5_000)
    name = Keyspace(tenant.id).agent_approvals(agent_id)
    await client.call("ZADD", name, *(each for number in range(100) for each in (number + 1, f"stale {number}")))
    await client.close()
    assert ask(tenant, agent_id)["result"] == "escalated"


async def test_sequences_of_fifteen_digits_stay_whole(tenant, agent_id, person, store):
    """Lua writes such numbers as 1e+14 unless they go through a format."""
    client, keyspace = open_client(store.url, 5_000), Keyspace(tenant.id)
    await client.call("HSET", keyspace.commits, "sequence", 123_456_789_012_345)
    asked = ask(tenant, agent_id)["approval"]["id"]
    person.post(f"/v1/approvals/{asked}/approve", json={}).raise_for_status()
    assert ask(tenant, agent_id)["result"] == "allowed"
    entries = await client.call("XREVRANGE", keyspace.audit_stream, "+", "-", "COUNT", 3)
    await client.close()
    assert [entry_id for entry_id, _ in entries] == [f"{123_456_789_012_345 + n}-0" for n in (3, 2, 1)]
