"""Garbage in a key of the log: a reader says that the log is damaged, or answers as if nothing had happened.

Never an unexpected error, and never an answer with fewer entries than there are.
"""

import pytest
from audit_entries import AGENTS, Writer

from app.audit import segments as audit_segments
from app.audit.index import name_of
from app.audit.log import AuditLog
from app.audit.read.export import export
from app.audit.seal.sealer import Sealer
from app.errors import AuditLogDamaged
from app.model.audit import AuditQuery, Format
from app.model.decisions import Result

pytestmark = pytest.mark.slow

GARBAGE = ["nan", "inf", "1" + "0" * 400, "9" * 19, "", b"\xff\xfe", "-1", " 7", "x", "1 2", "1:2:3:4:5", "["]
QUERIES = {
    "all": AuditQuery(limit=1000),
    "an offset": AuditQuery(limit=10, offset=70),
    "a cursor": AuditQuery(limit=1000, before=70),
    "an agent": AuditQuery(limit=1000, agent_id=AGENTS[1]),
    "a tool, by pages": AuditQuery(limit=5, offset=12, tool_name="tool.3"),
    "a result and an action": AuditQuery(limit=1000, result=Result.DENIED, action="read"),
    "times": AuditQuery(limit=1000, from_ms=1, to_ms=2**42),
}


@pytest.fixture
def client(valkey_client):
    return valkey_client


@pytest.fixture
async def log(client, workspace_id, monkeypatch):
    """Seven segments of 16 entries in parts of three, and eight entries in the stream."""
    monkeypatch.setattr(audit_segments, "PART_SEGMENTS", 3)
    writer = Writer(client, workspace_id)
    await writer.append_each(
        {
            "agentId": AGENTS[number % 4],
            "toolName": f"tool.{number % 7}",
            "action": ["authorize", "read"][number % 2],
            "result": ["allowed", "allowed", "denied"][number % 3],
        }
        for number in range(120)
    )
    sealer = Sealer(client, 16, 100)
    for _ in range(7):
        await sealer.seal_next(workspace_id)
    return writer


async def answers(client, workspace_id):
    """What each reader says: its answer, or that the log is damaged."""
    audit = AuditLog(client)
    said = {}
    for name, query in QUERIES.items():
        try:
            said[name] = (await audit.query(workspace_id, query)).lines
        except AuditLogDamaged:
            said[name] = "damaged"
    for name, query in (("an export", AuditQuery()), ("an export of an agent's", QUERIES["an agent"])):
        try:
            said[name] = b"".join([piece async for piece in export(client, workspace_id, query, Format.NDJSON)])
        except AuditLogDamaged:
            said[name] = "damaged"
    try:
        said["a replay's entries"] = [chunk.body async for chunk in audit.entries(workspace_id, None, 1, 2**42)]
    except AuditLogDamaged:
        said["a replay's entries"] = "damaged"
    try:
        status = await audit.backlog(workspace_id)
        said["the status"] = status.unsealed, status.last_sequence, status.sealed_sequence, status.segments
    except AuditLogDamaged:
        said["the status"] = "damaged"
    return said


def require_honest(before, now, what):
    """Each answer is the one of before, or says that the log is damaged."""
    wrong = [name for name, said in now.items() if said not in ("damaged", before[name])]
    assert not wrong, what


HASHES = {
    "commits": ["sequence"],
    "audit_head": ["segment", "sequence", "sha256", "last_ms", "names", "archived", "unarchived"],
    "audit_parts": ["0", "1", "2", b"\xff", "9"],
    "segment": [*audit_segments.Segment.__struct_fields__],
}
ROWS = [(key, field) for key, fields in HASHES.items() for field in fields if field != "data"]


@pytest.mark.parametrize(("key", "field"), ROWS, ids=[f"{key}-{field!r}" for key, field in ROWS])
async def test_garbage_in_a_field_is_reported_as_damage_or_changes_no_answer(client, log, workspace_id, key, field):
    """Every field that a reader parses, and some that no reader does."""
    name = log.keyspace.audit_segment(4) if key == "segment" else getattr(log.keyspace, key)
    kept = await client.call("HGET", name, field)
    before = await answers(client, workspace_id)
    for garbage in GARBAGE:
        await client.call("HSET", name, field, garbage)
        require_honest(before, await answers(client, workspace_id), garbage)
    await client.call("HDEL", name, field)
    require_honest(before, await answers(client, workspace_id), "deleted")
    if kept is not None:
        await client.call("HSET", name, field, kept)
    assert await answers(client, workspace_id) == before


SETS = {
    "all": ("", ""),
    "an agent": ("agent", f"{AGENTS[1]}:allowed"),
    "a tool": ("tool", name_of("tool.3")),
    "an action": ("action", name_of("read")),
    "a result": ("result", "denied"),
}


@pytest.mark.parametrize("index", SETS)
async def test_garbage_in_the_index_is_reported_as_damage_or_changes_no_answer(client, log, workspace_id, index):
    """Unreadable members, names of missing segments, wrong counts and wrong scores."""
    dimension, value = SETS[index]
    key = log.keyspace.audit_by(dimension, value, 1) if dimension else log.keyspace.audit_by_all(1)
    members = await client.call("ZRANGE", key, 0, -1, "WITHSCORES")
    before = await answers(client, workspace_id)
    [first, score] = members[:2] if isinstance(members[0], str) else members[0]
    number, count, *rest = first.split(":")
    for member in [
        *GARBAGE,
        f"8:{count}:{rest[0]}",
        "5:-1:1",
        f"{10**30}:1:1",
        "5:1:1:1",
        f"8:{count}:113:1:9",
        "99:16:1:1:1",
    ]:
        if member not in members:
            await client.call("ZADD", key, 1, member)
            require_honest(before, await answers(client, workspace_id), member)
            await client.call("ZREM", key, member)
    for forged in (f"{number}:{int(count) + 1}:", f"{number}:{int(count) - 1}:", f"{int(number) + 40}:{count}:"):
        await client.call("ZREM", key, first)
        await client.call("ZADD", key, score, forged + ":".join(rest))
        now = await answers(client, workspace_id)
        if index != "all":  # an offset skips by these counts, and an index by value may hide a segment: verified
            now.pop("a tool, by pages")
        if index == "all" or forged.startswith(f"{number}:"):
            require_honest(before, now, forged)
        await client.call("ZREM", key, forged + ":".join(rest))
        await client.call("ZADD", key, score, first)
    await client.call("ZADD", key, 10**15, first)
    assert await answers(client, workspace_id) == before


@pytest.mark.parametrize(
    "key", ["commits", "audit_head", "audit_parts", "audit_stream", "segment", "data", "all", "agent"]
)
@pytest.mark.parametrize("way", ["another type", "deleted"])
async def test_a_missing_key_or_one_of_another_type_is_reported_as_damage(client, log, workspace_id, key, way):
    """A deleted index by agent hides entries from queries by agent alone, and verification finds it."""
    keyspace = log.keyspace
    others = {
        "segment": keyspace.audit_segment(4),
        "data": keyspace.audit_data(4),
        "all": keyspace.audit_by_all(1),
        "agent": keyspace.audit_by("agent", f"{AGENTS[1]}:allowed", 1),
    }
    before = await answers(client, workspace_id)
    name = others.get(key) or getattr(keyspace, key)
    await client.call("DEL", name)
    if way == "another type":
        await client.call(
            *(("HSET", name, "a", "b") if key in ("data", "all", "agent", "audit_stream") else ("SET", name, "x"))
        )
    now = await answers(client, workspace_id)
    if (key, way) != ("agent", "deleted"):
        require_honest(before, now, way)
        assert "damaged" in now.values()


@pytest.mark.parametrize("sequence", [113, 116, 120])
async def test_an_entry_missing_from_the_stream_never_shortens_an_answer(client, log, workspace_id, sequence):
    """Whether the oldest, one in the middle or the newest; once sealed, a line in its place says that it is missing."""
    await client.call("XDEL", log.keyspace.audit_stream, f"{sequence}-0")
    with pytest.raises(AuditLogDamaged, match=f"Entry {sequence} of the audit log is gone from the stream"):
        await AuditLog(client).query(workspace_id, AuditQuery(limit=1000))
    assert len((await AuditLog(client).query(workspace_id, AuditQuery(limit=1000, before=113))).lines) == 112
