"""The compactor: when it seals, for which workspaces, and how it ends."""

import asyncio

import pytest
from audit_entries import START_MS, Writer

from app.audit.seal.compactor import Compactor
from app.redis_client.clients import store_time_ms
from app.serve.jobs import Job, run_jobs
from app.settings import Settings
from app.store.keyspace import WORKSPACES
from app.store.leases import LEASE_MS


@pytest.fixture
async def writer(client, workspace_id):
    await client.call("HSET", WORKSPACES, f"name of {workspace_id}", workspace_id)
    yield Writer(client, workspace_id)
    await client.call("HDEL", WORKSPACES, f"name of {workspace_id}")


@pytest.fixture
async def first(client, ids):
    """The log of another workspace, which has its turn before."""
    name, workspace_id = "! sorts first", ids.new(0)
    await client.call("HSET", WORKSPACES, name, workspace_id)
    yield Writer(client, workspace_id)
    await client.call("HDEL", WORKSPACES, name)


@pytest.fixture
def compactor(client):
    return Compactor(client, Settings(audit_segment_entries=16, audit_seal_after_seconds=10))


async def sealed_sequence(writer):
    return int(await writer.client.call("HGET", writer.keyspace.audit_head, "sequence") or 0)


async def test_whole_segments_are_sealed_at_once_and_the_rest_waits(writer, client):
    """40 young entries are two segments of 16; the last 8 stay in the stream until they are old enough."""
    compactor = Compactor(client, Settings(audit_segment_entries=16, audit_seal_after_seconds=3600))
    now_ms = await store_time_ms(writer.client)
    await writer.append(40, timeMs=now_ms)
    assert await compactor.sweep()
    assert await sealed_sequence(writer) == 32
    while await compactor.sweep():  # as long as there is something to seal in any workspace
        pass
    assert await sealed_sequence(writer) == 32


@pytest.mark.parametrize(("age_ms", "sealed"), [(9_000, 0), (11_000, 3), (-11_000, 3)], ids=["young", "old", "future"])
async def test_an_entry_that_waited_long_enough_is_sealed_with_what_there_is(writer, compactor, age_ms, sealed):
    """Age is measured by the store's clock; if that stepped back, sealing must not stop."""
    now_ms = await store_time_ms(writer.client)
    await writer.append(3, timeMs=now_ms - age_ms)
    await compactor.sweep()
    assert await sealed_sequence(writer) == sealed


async def test_another_compactors_lease_is_respected_until_it_expires(writer, compactor):
    """It only saves work: without it, sealing is just as correct."""
    await writer.append(16)
    long_enough_ms = 3_600_000  # even if the machine's clock is stepped meanwhile
    await writer.client.call("SET", writer.keyspace.audit_lease, "another", "PX", long_enough_ms)
    await compactor.sweep()
    assert await sealed_sequence(writer) == 0
    await writer.client.call("DEL", writer.keyspace.audit_lease)
    await compactor.sweep()
    assert await sealed_sequence(writer) == 16
    assert 0 < await writer.client.call("PTTL", writer.keyspace.audit_lease) <= LEASE_MS


async def test_one_workspace_that_cannot_be_sealed_does_not_stop_the_others(writer, first, compactor, client):
    """A log that somebody broke is reported; the others go on."""
    await first.append(16)
    await client.call("SET", first.keyspace.audit_head, "not a hash")
    await writer.append(16)
    await compactor.sweep()
    assert await sealed_sequence(writer) == 16


async def test_damage_in_one_workspace_does_not_stop_sealing_in_others(writer, first, compactor, monkeypatch, caplog):
    """Even damage that nobody thought of, which the compactor would meet again after every restart."""
    await first.append(16)
    await writer.append(16)
    seal_next = compactor._sealer.seal_next

    async def failing(workspace_id):
        if workspace_id in first.keyspace.workspace:
            raise ZeroDivisionError("unexpected")
        return await seal_next(workspace_id)

    monkeypatch.setattr(compactor._sealer, "seal_next", failing)
    await compactor.sweep()
    assert await sealed_sequence(writer) == 16
    assert "unexpected" in caplog.text


async def test_a_log_that_grows_as_fast_as_it_is_sealed_keeps_no_other_waiting(writer, first, compactor, monkeypatch):
    """Its sealing goes on when the others have had their turn."""
    for each in (first, writer):
        await each.append(16)
    seal_next, stopped = compactor._sealer.seal_next, asyncio.Event()

    async def growing(workspace_id):
        if workspace_id in first.keyspace.workspace:
            await first.append(16)
            if await sealed_sequence(first) > 100 * 16:
                stopped.set()
        return await seal_next(workspace_id)

    monkeypatch.setattr(compactor._sealer, "seal_next", growing)
    assert await compactor.sweep(stopped)
    assert await sealed_sequence(writer) == 16
    before = await sealed_sequence(first)
    await compactor.sweep(stopped)
    assert await sealed_sequence(first) > before > 16


async def test_stopping_finishes_the_segment_and_no_more(writer, client, monkeypatch):
    """Stopping waits for one segment at most."""
    await writer.append(64, timeMs=START_MS)
    stopped = asyncio.Event()
    compactor = Compactor(client, Settings(audit_segment_entries=16))
    seal_next = compactor._sealer.seal_next

    async def told_to_stop(workspace_id):
        stopped.set()
        return await seal_next(workspace_id)

    monkeypatch.setattr(compactor._sealer, "seal_next", told_to_stop)
    await run_jobs([Job("seal logs", 1.0, compactor.sweep)], stopped)
    assert await sealed_sequence(writer) == 16
