"""Foreign data in one workspace's keys affects only that workspace."""

import asyncio
import time

import pytest
from audit_entries import Writer

from app.audit.backlog import SealingWatch
from app.serve.jobs import background_jobs
from app.settings import Settings
from app.store.keyspace import WORKSPACES, Keyspace

CHANGE = "actorId", "console", "kind", "created", "resourceType", "policy", "after", "{}"
TEXT = b"\xff not text"
FOREIGN = {
    "audit_stream": [("SET", TEXT), ("XADD", "9-9", "timeMs", TEXT)],
    "audit_head": [("SET", TEXT), ("HSET", "segment", TEXT), ("HSET", "segment", "9" * 30), ("HSET", "archived", "x")],
    "audit_parts": [("SET", TEXT), ("HSET", "0", "1 2"), ("HSET", TEXT, TEXT)],
    "audit_poison": [("SET", TEXT)],
    "audit_lease": [("HSET", "a", "b")],
    "verification_lease": [("HSET", "a", "b")],
    "commits": [("SET", TEXT), ("HSET", "sequence", TEXT), ("HSET", "sequence", "-7")],
    "changes": [("SET", TEXT), ("XADD", "2000-1", TEXT, TEXT)],
    "changes_chain": [("SET", TEXT), ("XADD", "5-0", "lastId", "x", "previous", "", "sha256", "")],
    "workspace": [("SET", TEXT), ("HSET", "created_ms", TEXT), ("HSET", "verified_ms", "x")],
    "approvals_open": [("SET", TEXT), ("ZADD", 1, TEXT)],
    "approvals_trail": [("HSET", "a", "b"), ("SET", "x")],
    "webhooks": [("SET", TEXT), ("ZADD", 1, TEXT)],
    "policies": [("SET", TEXT), ("ZADD", 1, TEXT)],
}
ROWS = [(name, command) for name, commands in FOREIGN.items() for command in commands]


@pytest.fixture
def client(valkey_client):
    return valkey_client


@pytest.fixture
async def workspaces(client, ids):
    """One workspace for each row, and another, which comes last in every order; each has a log and a trail."""
    made = sorted(ids.new(0) for _ in range(len(ROWS) + 1))
    for each in made:
        keyspace = Keyspace(each)
        await client.call("HSET", WORKSPACES, each, each)
        await client.call("HSET", keyspace.workspace, "created_ms", 1)
        await Writer(client, each).append(3)
        await client.call("XADD", keyspace.changes, "1000-0", *CHANGE)
    yield made
    await client.call("HDEL", WORKSPACES, *made)


async def test_a_key_that_another_program_wrote_stops_nothing_of_others(client, workspaces):
    """The other's log is sealed, its changes are chained, its log is verified, and monitors get their numbers."""
    *damaged, other = workspaces
    for workspace_id, (name, (verb, *rest)) in zip(damaged, ROWS, strict=True):
        key = getattr(Keyspace(workspace_id), name)
        if verb == "SET" or rest[0] == "a":
            await client.call("DEL", key)
        await client.call(verb, key, *rest)
    settings = Settings(audit_segment_entries=2, audit_retention_days=1, audit_drop_unarchived=True)
    stopped = asyncio.Event()
    async with background_jobs(client, settings) as jobs:
        for job in jobs:
            await job.run(stopped)
    seen = await SealingWatch(client, time.monotonic).look()
    kept = Keyspace(other)
    assert await client.call("HGET", kept.audit_head, "segment") == "1"
    assert await client.call("XLEN", kept.changes_chain) == 1
    assert int(await client.call("HGET", kept.workspace, "intact_ms")) > 1
    assert seen.segments >= 1
