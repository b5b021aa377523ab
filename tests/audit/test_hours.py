"""Hours of whole parts: counts that come from them are those of a scan, and they stay small."""

import asyncio
import random
from collections import Counter

import msgspec
import pytest
import zstandard
from audit_entries import AGENTS, POLICY, Writer, entry_of, grow_trees, lose_columns
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from profiles import examples

from app.audit import hours
from app.audit import segments as audit_segments
from app.audit.columns import code_of
from app.audit.hours import HOUR_MS, TABLES
from app.audit.log import AuditLog
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.errors import AuditLogDamaged
from app.model.audit import AuditQuery
from app.model.counts import CountBy, CountQuery
from app.model.decisions import Result
from app.model.ids import Ids
from app.model.times import parse_time_ms
from app.redis_client.clients import open_client

BEGIN_MS = 480_000 * HOUR_MS
END_MS = BEGIN_MS + 9 * HOUR_MS
MINUTE_MS = 60_000
FIELDS = {CountBy.RESULT: "result", CountBy.AGENT: "agentId", CountBy.TOOL: "toolName", CountBy.POLICY: "policyId"}
FILTERS = {
    "result": list(Result),
    "tool_name": ["file.read", "unheard.of"],
    "policy_id": [POLICY, AGENTS[3]],
    "agent_id": AGENTS,
}


def moment(chance):
    """Often the last millisecond of an hour or the first of the next, where an hour could be taken for whole."""
    return BEGIN_MS + chance.randrange(7) * HOUR_MS + chance.choice([-1, 0, 0, 1, 20 * MINUTE_MS, 30 * MINUTE_MS])


def call(chance):
    """The fields of an entry."""
    fields = {
        "timeMs": moment(chance),
        "agentId": chance.choice(AGENTS),
        "toolName": chance.choice(["file.read", "file.write", 'odd "tool"\\', "päth.ö"]),
        "result": chance.choice([result.value for result in Result]),
        "policyId": chance.choice(["", POLICY, AGENTS[0]]),
        "rule": chance.choice(["", "3 rate_limit"]),
    }
    others = [{}, {}, {"code": "parameter_invalid"}, {"code": "of_another_release"}]
    return fields | chance.choice([*others, {"type": "outcome", "code": "executed", "result": ""}])


def question(chance):
    """A query: with few filters, because what several must match is mostly nothing."""
    names = chance.sample(list(FILTERS), chance.choice([0, 0, 1, 1, 2, 3]))
    given = {name: chance.choice(FILTERS[name]) for name in names}
    if chance.random() < 0.7:
        given |= {"from_ms": moment(chance), "to_ms": chance.choice([END_MS, END_MS, moment(chance) + 7 * HOUR_MS])}
        given |= {"step_seconds": chance.choice([None, 900, 3600, 3600, 5400, 7200])}
    return CountQuery(**given, by=chance.choice(list(CountBy)), limit=chance.choice([1, 2, 1000]))


@pytest.fixture
def client(valkey_client):
    return valkey_client


@pytest.fixture
def small(monkeypatch):
    """Parts of three segments."""
    monkeypatch.setattr(audit_segments, "PART_SEGMENTS", 3)


FEW_TABLES = pytest.param(3, id="few tables", marks=pytest.mark.slow)


@pytest.mark.parametrize("rows_max", [pytest.param(4_096, id="all tables"), FEW_TABLES])
def test_any_count_is_that_of_a_scan_whatever_is_sealed_dropped_or_lost(small, store, monkeypatch, rows_max):
    """Two readers, two sealers, one writer, retention, and columns that are gone; clocks step back."""
    monkeypatch.setattr(hours, "ROWS_MAX", rows_max)

    @settings(max_examples=examples(20))
    @given(st.integers(0, 1 << 32))
    def holds(seed):
        asyncio.run(play(store.url, random.Random(seed)))

    holds()


async def play(url, chance):
    clients = [open_client(url, 5_000), open_client(url, 5_000)]
    workspace_id = Ids().new(0)
    writer, logs = Writer(clients[0], workspace_id), [AuditLog(client) for client in clients]
    sealers = [Sealer(client, 4, 100) for client in clients]
    try:
        for _ in range(chance.randrange(3, 7)):
            await writer.append_each([call(chance) for _ in range(chance.randrange(30))])
            for _ in range(chance.randrange(10)):
                await chance.choice(sealers).seal_next(workspace_id)
            if chance.random() < 0.1:
                await grow_trees(clients[0], workspace_id)
                await Retention(clients[0], unarchived=True).drop_next(workspace_id, 1 << 50)
            if chance.random() < 0.05:
                await lose_columns(clients[0], writer.keyspace)
                sealers = [Sealer(client, 4, 100) for client in clients]
            floor = await logs[0].floor(workspace_id)
            kept = writer.written[0 if floor is None else floor.sequence - 1 :]
            for query in [question(chance) for _ in range(5)]:
                counted = (await chance.choice(logs).counts(workspace_id, query)).counts
                assert shown(counted) == scanned(kept, query), query
                of_all = replace(query, result=None, step_seconds=None, limit=1000)
                by_result = await chance.choice(logs).counts_by_result(workspace_id, of_all)
                apart = {each: scanned(kept, replace(of_all, result=each))[0] for each in Result}
                assert {each: [(one.value, one.count, None) for one in by_result[each]] for each in Result} == apart
    finally:
        for client in clients:
            await client.close()


def shown(counts):
    values = [(each.value, each.count, each.counts or None) for each in counts.values]
    return values, counts.total, counts.others


def scanned(written, query):
    """The answer, by looking at every entry."""
    names = {"agent_id": "agentId", "tool_name": "toolName", "policy_id": "policyId", "result": "result"}
    wanted = {names[name]: getattr(query, name) for name in names if getattr(query, name) is not None}
    end_ms = END_MS if query.to_ms is None else query.to_ms
    found = []
    for fields in written:
        entry = entry_of(fields)
        time_ms = parse_time_ms(entry["timestamp"])
        if (query.from_ms or 0) <= time_ms <= end_ms and all(entry[name] == value for name, value in wanted.items()):
            rule = entry["rule"] and entry["rule"]["type"]
            code = code_of(entry["result"], rule, entry.get("code"))
            found.append((code if query.by is CountBy.CODE else entry[FIELDS[query.by]], time_ms))
    totals = Counter(value for value, _ in found)
    values = sorted(totals, key=lambda value: (-totals[value], value or ""))
    step_ms = query.step_seconds and query.step_seconds * 1000
    slots = Counter((value, step_ms and (time_ms - query.from_ms) // step_ms) for value, time_ms in found)
    intervals = step_ms and range((end_ms - query.from_ms) // step_ms + 1)
    return (
        [
            (value, totals[value], [slots[value, slot] for slot in intervals] if step_ms else None)
            for value in values[: query.limit]
        ],
        totals.total(),
        sum(totals[value] for value in values[query.limit :]),
    )


@pytest.fixture
async def written(small, client, workspace_id):
    """Eight segments in parts of two, three and three: an entry every ten minutes."""
    writer = Writer(client, workspace_id)
    tools = ("file.read", "file.write", "mail.send")
    await writer.append_each(
        {"timeMs": BEGIN_MS + n * 10 * MINUTE_MS, "toolName": tools[n % 3], "result": ["allowed", "denied"][n % 2]}
        for n in range(8 * 12)
    )
    sealer = Sealer(client, 12, 100)
    while await sealer.seal_next(workspace_id):
        pass
    return writer


async def keys_of(client, workspace_id, kind):
    return sorted(await client.call("KEYS", f"remit:{{{workspace_id}}}:audit:{kind}:*"))


async def test_whole_hours_are_counted_by_them_alone(written, client, workspace_id):
    """Neither columns nor entries nor the index of these parts are read: they are gone."""
    log, query = AuditLog(client), CountQuery(by=CountBy.TOOL, from_ms=BEGIN_MS, to_ms=END_MS - 1, step_seconds=3600)
    before = (await log.counts(workspace_id, query)).counts
    for kind in ("columns", "names", "by:all", "data", "segment"):
        await client.call("DEL", *await keys_of(client, workspace_id, kind))
    assert (await log.counts(workspace_id, query)).counts == before
    assert before.total == 9 * 6


async def test_only_whole_parts_have_hours_and_lose_them_with_their_first_segment(written, client, workspace_id):
    """What is counted then is what is left."""
    keyspace = written.keyspace
    assert await keys_of(client, workspace_id, "hours") == [keyspace.audit_hours(part) for part in (0, 1, 2)]
    await grow_trees(client, workspace_id)
    for _ in range(3):
        await Retention(client, unarchived=True).drop_next(workspace_id, 1 << 50)
    assert await keys_of(client, workspace_id, "hours") == [keyspace.audit_hours(2)]
    assert (await AuditLog(client).counts(workspace_id, CountQuery())).counts.total == 5 * 12


async def test_a_policy_that_never_decided_is_not_looked_for_in_columns(written, client, workspace_id):
    """Hours name the policies of their part; columns of whole parts are garbled here, and nobody notices."""
    log = AuditLog(client)
    for part in (0, 1, 2):
        key = written.keyspace.audit_columns(part)
        for segment in await client.call("HKEYS", key):
            await client.call("HSET", key, segment, "x")
    assert (await log.query(workspace_id, AuditQuery(policy_id=AGENTS[3]))).lines == []
    with pytest.raises(AuditLogDamaged):
        await log.query(workspace_id, AuditQuery(policy_id=POLICY))


async def test_a_table_with_too_many_rows_is_left_out(small, client, workspace_id, monkeypatch):
    """An agent that invents tools makes hours no larger; the tools are counted all the same."""
    monkeypatch.setattr(hours, "ROWS_MAX", 10)
    writer = Writer(client, workspace_id)
    await writer.append_each({"timeMs": BEGIN_MS, "toolName": f"tool.{n}"} for n in range(24))
    for _ in range(2):
        await Sealer(client, 12, 100).seal_next(workspace_id)
    kept = await client.call("HKEYS", writer.keyspace.audit_hours(0))
    assert set(kept) == TABLES.keys() - {"tool", "calls"}
    counts = (await AuditLog(client).counts(workspace_id, CountQuery(by=CountBy.TOOL, limit=30))).counts
    assert {each.value: each.count for each in counts.values} == {f"tool.{n}": 1 for n in range(24)}


async def test_hours_are_read_with_zstd_as_json(written, client, workspace_id):
    """Each tool is called every half hour, and allowed every other time."""
    packed = await client.call_bytes("HGET", written.keyspace.audit_hours(1), "tool")
    table = msgspec.json.decode(zstandard.ZstdDecompressor().decompress(packed))
    assert table["hours"] == [480_004, 480_005, 480_006, 480_007, 480_008, 480_009]
    assert table["names"] == {"tool": ["file.read", "file.write", "mail.send"]}
    assert table["counts"]["allowed"] == {"total": [6, 6, 6], "by_hour": [[0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1]] * 3}


@pytest.mark.parametrize("table", TABLES)
async def test_a_flipped_bit_of_the_hours_is_never_a_count(written, client, workspace_id, table):
    """They have a checksum."""
    log, chance, key = AuditLog(client), random.Random(7), written.keyspace.audit_hours(1)
    by = CountBy.TOOL if table == "calls" else CountBy(table)
    query = CountQuery(by=by, policy_id=POLICY) if table == "calls" else CountQuery(by=by)
    right = (await log.counts(workspace_id, query)).counts
    packed, damaged = await client.call_bytes("HGET", key, table), 0
    for _ in range(30):
        bit, broken = chance.randrange(8 * len(packed)), bytearray(packed)
        broken[bit // 8] ^= 1 << bit % 8
        await client.call("HSET", key, table, bytes(broken))
        try:
            assert (await log.counts(workspace_id, query)).counts == right
        except AuditLogDamaged:
            damaged += 1
    assert damaged > 25


async def test_hours_of_other_entries_are_not_counted(written, client, workspace_id):
    """A table must count as many entries as its part has."""
    other = await client.call_bytes("HGET", written.keyspace.audit_hours(0), "code")
    await client.call("HSET", written.keyspace.audit_hours(1), "code", other)
    with pytest.raises(AuditLogDamaged, match="The hours of part 1 of the audit log"):
        await AuditLog(client).counts(workspace_id, CountQuery())


async def test_entries_of_a_part_that_is_completed_meanwhile_are_counted_once(written, client, workspace_id):
    """They were counted in the stream already, so the hours that they have since are not for this count."""
    read_snapshot, sealer = client.read_snapshot, Sealer(client, 12, 100)
    await written.append(12, timeMs=BEGIN_MS)
    await sealer.seal_next(workspace_id)
    await written.append(2 * 12, timeMs=BEGIN_MS)

    async def sealing_first(*commands):
        client.read_snapshot = read_snapshot
        while await sealer.seal_next(workspace_id):
            pass
        return await read_snapshot(*commands)

    client.read_snapshot = sealing_first
    assert (await AuditLog(client).counts(workspace_id, CountQuery())).counts.total == 11 * 12
    assert await keys_of(client, workspace_id, "hours") == [written.keyspace.audit_hours(part) for part in range(4)]
