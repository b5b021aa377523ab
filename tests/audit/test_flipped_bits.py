"""A stored segment is verified before any of its entries is shown: a flipped bit is an error, never an answer."""

import random

import pytest
from audit_entries import AGENTS, Writer, decoded
from profiles import examples

from app.audit.log import AuditLog
from app.audit.read.export import export
from app.audit.seal.sealer import Sealer
from app.errors import AuditLogDamaged
from app.model.audit import AuditQuery, Format
from app.model.counts import CountBy, CountQuery

FLIPS = examples(120)
FIELDS = ("frames", "digests", "sha256", "previous")


@pytest.fixture
def client(valkey_client):
    return valkey_client


@pytest.fixture
async def writer(client, workspace_id):
    """Three segments of 160 entries in three frames each."""
    writer = Writer(client, workspace_id)
    await writer.append_each(
        {"agentId": AGENTS[number % 4], "parameters": f'{{"n":{number}}}'} for number in range(480)
    )
    for _ in range(1, 4):
        await Sealer(client, 160, 100).seal_next(workspace_id)
    return writer


async def exported(client, workspace_id):
    return b"".join([each async for each in export(client, workspace_id, AuditQuery(), Format.NDJSON)])


async def test_a_flipped_bit_of_a_segment_is_never_an_answer(client, writer, workspace_id):
    """Whichever bit of its data: queries and exports fail with an error that names the segment."""
    log, chance = AuditLog(client), random.Random(7)
    whole = await exported(client, workspace_id)
    key = writer.keyspace.audit_data(2)
    data = await client.call_bytes("GET", key)
    queries = [AuditQuery(limit=1000), AuditQuery(agent_id=AGENTS[1], limit=1000), AuditQuery(id=AGENTS[0])]
    found = 0
    for _ in range(FLIPS):
        bit = chance.randrange(8 * len(data))
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        await client.call("SET", key, bytes(broken))
        for query in queries:
            with pytest.raises(AuditLogDamaged, match="Segment 2"):
                await log.query(workspace_id, query)
        with pytest.raises(AuditLogDamaged, match="Segment 2"):
            await exported(client, workspace_id)
        found += 1
    await client.call("SET", key, data)
    assert (found, await exported(client, workspace_id)) == (FLIPS, whole)


async def test_a_flipped_bit_of_the_columns_is_never_a_count(client, workspace_id):
    """Counts come from columns and their names, so a decayed bit of these is an error, too, or changes nothing."""
    writer, log, chance = Writer(client, workspace_id), AuditLog(client), random.Random(7)
    await writer.append_each({"agentId": AGENTS[n % 4], "toolName": f"tool.{n % 9}"} for n in range(64))
    await Sealer(client, 64, 100).seal_next(workspace_id)
    queries = [CountQuery(by=by, agent_id=AGENTS[1]) for by in CountBy]
    right, damaged = [(await log.counts(workspace_id, each)).counts for each in queries], 0
    for key in (writer.keyspace.audit_columns(0), writer.keyspace.audit_names(0)):
        value = await client.call_bytes("HGET", key, 1)
        for _ in range(FLIPS):
            bit = chance.randrange(8 * len(value))
            broken = bytearray(value)
            broken[bit // 8] ^= 1 << bit % 8
            await client.call("HSET", key, 1, bytes(broken))
            for query, expected in zip(queries, right, strict=True):
                try:
                    counted = await log.counts(workspace_id, query)
                except AuditLogDamaged:
                    damaged += 1
                else:
                    assert counted.counts == expected
        await client.call("HSET", key, 1, value)
    assert damaged > 9 * FLIPS


@pytest.mark.parametrize("field", FIELDS)
async def test_a_flipped_bit_in_a_digest_never_gives_a_wrong_answer(client, writer, workspace_id, field):
    """If it does not matter for the query, the answer is right; otherwise it is an error."""
    log, chance, query = AuditLog(client), random.Random(7), AuditQuery(agent_id=AGENTS[1], limit=1000)
    key = writer.keyspace.audit_segment(2)
    value = await client.call_bytes("HGET", key, field) or b""
    for _ in range(FLIPS // 4 if value else 0):
        bit = chance.randrange(8 * len(value))
        broken = bytearray(value)
        broken[bit // 8] ^= 1 << bit % 8
        await client.call("HSET", key, field, bytes(broken))
        try:
            page = await log.query(workspace_id, query)
        except AuditLogDamaged:
            continue
        assert decoded(page) == writer.expected(query)


@pytest.mark.parametrize("gone", ["data", "record", "both", "cut"])
async def test_a_missing_segment_is_a_damaged_log_and_names_itself(client, writer, workspace_id, gone):
    """In a query and in an export: reported neither as an unavailable store nor as retention."""
    keys = {"data": writer.keyspace.audit_data(2), "record": writer.keyspace.audit_segment(2)}
    if gone == "cut":
        data = await client.call_bytes("GET", keys["data"])
        await client.call("SET", keys["data"], data[: len(data) // 2])
    else:
        await client.call("DEL", *([keys[gone]] if gone in keys else keys.values()))
    with pytest.raises(AuditLogDamaged, match="Segment 2"):
        await AuditLog(client).query(workspace_id, AuditQuery(limit=1000))
    with pytest.raises(AuditLogDamaged, match="Segment 2"):
        await exported(client, workspace_id)


async def test_an_export_is_not_complete_without_a_segment_that_the_index_has_lost(client, writer, workspace_id):
    """Nor without an entry that is missing from the stream."""
    members = await client.call("ZRANGE", writer.keyspace.audit_by_all(0), 0, -1)
    await client.call("ZREM", writer.keyspace.audit_by_all(0), members[1])
    with pytest.raises(AuditLogDamaged, match="does not have segment 2"):
        await exported(client, workspace_id)
    await client.call("ZADD", writer.keyspace.audit_by_all(0), 1, members[1])
    await writer.append(6)
    for entry, wanted in (("483-0", 483), ("486-0", 483)):
        await client.call("XDEL", writer.keyspace.audit_stream, entry)
        with pytest.raises(AuditLogDamaged, match=f"Entry {wanted} "):
            await exported(client, workspace_id)


async def test_an_export_is_written_in_pieces_so_others_are_not_delayed(client, writer, workspace_id):
    """No line is split."""
    pieces = [each async for each in export(client, workspace_id, AuditQuery(), Format.NDJSON)]
    assert max(map(len, pieces)) < 40_000
    assert all(each.endswith(b"\n") for each in pieces if each)
    assert len(b"".join(pieces).splitlines()) == 481
