"""Changes of the index are detected by rebuilding it from the bodies."""

import msgspec
import pytest
from audit_entries import AGENTS, KEY, Writer, grow_trees, lose_columns, own_database, written_once

from app.audit import segments as audit_segments
from app.audit.index import name_of, shared_by
from app.audit.log import AuditLog
from app.audit.read.export import export
from app.audit.seal import segment_builder as audit_block
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.audit.verify.verifier import Verifier
from app.model.audit import AuditQuery, Format
from app.model.checkpoints import Fault
from app.redis_client.clients import open_client

WORKSPACE = "018bcfe5-6800-7000-8000-000000000a12"
RESULTS = ["allowed", "allowed", "denied"]


@pytest.fixture
async def client(valkey_store):
    opened = open_client(own_database(valkey_store), 5_000)
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
def saved():
    """What the log's keys contained once it was written, by the most names that an index has."""
    return {100: [], 2: []}


class Log:
    """Eight segments of 16 entries in parts of three, with four agents, seven tools, two actions; one is unreadable."""

    def __init__(self, client, workspace_id, names_max):
        self.client, self.workspace_id, self.names_max = client, workspace_id, names_max
        self.writer = Writer(client, workspace_id)
        self.keyspace = self.writer.keyspace

    async def write(self):
        await self.writer.append_each(
            {
                "agentId": AGENTS[number % 4],
                "toolName": f"tool.{number % 7}",
                "action": ["authorize", "read"][number % 2],
                "result": "no result" if number == 50 else RESULTS[number % 3],
            }
            for number in range(128)
        )
        sealer = Sealer(self.client, 16, self.names_max)
        for _ in range(8):
            await sealer.seal_next(self.workspace_id)
        return self

    async def verify(self, **options):
        return await Verifier(self.client, self.workspace_id).verify(**options)

    async def replace(self, key, number, *others):
        """Replace what an index says about a segment."""
        [member] = [each for each in await self.client.call("ZRANGE", key, 0, -1) if each.startswith(f"{number}:")]
        await self.client.call("ZREM", key, member)
        for other in others:
            await self.client.call("ZADD", key, 1, other(member))


@pytest.fixture(params=[100, 2], ids=["indexed", "past the cap"])
async def log(request, client, saved, monkeypatch):
    monkeypatch.setattr(audit_segments, "PART_SEGMENTS", 3)
    monkeypatch.setattr(audit_block, "FRAME_ENTRIES", 3)
    return await written_once(Log(client, WORKSPACE, request.param), saved[request.param])


def counted(member, by):
    """The member with another number of entries."""
    number, count, *rest = member.split(":")
    return ":".join([number, str(int(count) + by), *rest])


def masked(member):
    """The member with one frame less."""
    number, count, mask, *rest = member.split(":")
    return ":".join([number, count, f"{int(mask, 16) & (int(mask, 16) - 1):x}", *rest])


HARMS = {
    "removed": (),
    "counts one more": (lambda member: counted(member, 1),),
    "counts one less": (lambda member: counted(member, -1),),
    "a frame is hidden": (masked,),
    "said twice": (lambda member: member, lambda member: counted(member, 1)),
    "not readable": (lambda member: member.replace(":", " "),),
}
INDEXES = {
    "agent": f"{AGENTS[1]}:allowed",
    "tool": name_of("tool.1"),
    "action": name_of("read"),
    "result": "denied",
    "rule": name_of("tool_allowlist"),
    "key": KEY,
}
HARMED = [
    (dimension, harm)
    for at, dimension in enumerate(INDEXES)
    for turn, harm in enumerate(HARMS)
    if at in (0, turn % len(INDEXES))
]
"""Indexes are compared alike: one suffers every harm, and each of the others one."""
ELSEWHERE = ["1:1:1", "7:1:1", "x:1:1", "\u00b2:1:1"]
STRAYED = [(dimension, member) for at, dimension in enumerate(INDEXES) for member in ELSEWHERE[: 1 if at else None]]


async def test_an_untouched_index_is_intact(log):
    """Also where names share the value `other`, and where an entry could not be read."""
    found = await log.verify()
    assert (found.finding, found.complete, found.segments) == (None, True, 8)


async def test_segments_that_have_lost_their_columns_are_intact(log):
    """They need not be indexed by what only segments with columns are indexed by."""
    await lose_columns(log.client, log.keyspace)
    found = await log.verify()
    assert (found.finding, found.complete, found.segments) == (None, True, 8)


@pytest.mark.parametrize(("dimension", "harm"), HARMED)
async def test_an_index_that_contradicts_the_entries_is_detected(log, dimension, harm):
    """The first wrong segment is named, and the checkpoint covers the one before."""
    key = log.keyspace.audit_by(dimension, INDEXES[dimension], 1)
    if not await log.client.call("EXISTS", key):
        key = log.keyspace.audit_by(dimension, shared_by(INDEXES[dimension])[0], 1)
    await log.replace(key, 5, *HARMS[harm])

    found = await log.verify()

    assert (found.finding.fault, found.finding.segment) == (Fault.CHANGED, 5), found.finding.message
    assert f"The index by {dimension} " in found.finding.message
    assert found.checkpoint.segment == 4
    assert not found.complete


@pytest.mark.parametrize("harm", ["deleted", "a table gone", "a table of another part", "a further table", "garbled"])
async def test_hours_that_contradict_the_entries_are_detected(log, harm):
    """The last segment of their part is named, in steps too; those of a part that still grows are not there."""
    key, other = log.keyspace.audit_hours(1), log.keyspace.audit_hours(2)
    command = {
        "deleted": ("DEL", key),
        "a table gone": ("HDEL", key, "tool"),
        "a table of another part": ("HSET", key, "calls", await log.client.call_bytes("HGET", other, "calls")),
        "a further table": ("HSET", key, "further", await log.client.call_bytes("HGET", key, "tool")),
        "garbled": ("HSET", key, "tool", "x"),
    }
    await log.client.call(*command[harm])

    for since in (None, (await log.verify(segments_max=3)).checkpoint):
        found = await log.verify(since=since)
        assert (found.finding.fault, found.finding.segment, found.checkpoint.segment) == (Fault.CHANGED, 5, 4)
        assert "The hours of part 1 are not those of its entries" in found.finding.message


async def test_an_index_row_without_entries_is_detected(log):
    """An offset would skip entries that do not exist."""
    await log.client.call("ZADD", log.keyspace.audit_by("result", "escalated", 1), 1, "4:1:1")
    assert (await log.verify()).finding is None  # nobody asks for it and misses anything
    await log.client.call("ZADD", log.keyspace.audit_by("agent", "other", 1), 1, "5:1:1")
    found = await log.verify()
    assert found.finding.segment == 5


async def test_a_second_index_row_for_a_segment_is_detected(log):
    """A query would show its entries twice."""
    key = log.keyspace.audit_by_all(1)
    await log.replace(key, 5, lambda member: member, lambda member: f"{member}0")
    found = await log.verify()
    assert (found.finding.fault, found.finding.segment) == (Fault.CHANGED, 5)


@pytest.mark.parametrize("entries", [16, 250], ids=["as it is", "with a false count"])
async def test_an_index_row_in_the_wrong_part_is_detected_and_ignored_by_queries(log, entries):
    """It would show the segment's entries twice, and an offset would skip others."""
    client, keyspace, workspace_id = log.client, log.keyspace, log.workspace_id
    queries = AuditQuery(limit=1000), AuditQuery(limit=1000, offset=30), AuditQuery(limit=9, agent_id=AGENTS[1])
    before = [await AuditLog(client).query(workspace_id, query) for query in queries]
    [row] = [each for each in await client.call("ZRANGE", keyspace.audit_by_all(0), 0, -1) if each.startswith("2:")]
    row = ":".join([row.split(":")[0], str(entries), *row.split(":")[2:]])
    await client.call("ZADD", keyspace.audit_by_all(1), 1, row)

    found = await log.verify()

    assert (found.finding.fault, found.finding.segment) == (Fault.CHANGED, 5), found.finding.message
    assert f"The index of all segments says {row} in part 1" in found.finding.message
    assert [await AuditLog(client).query(workspace_id, query) for query in queries] == before
    pieces = b"".join([piece async for piece in export(client, workspace_id, AuditQuery(), Format.NDJSON)])
    assert msgspec.json.decode(pieces.splitlines()[-1])["end"]["entries"] == len(pieces.splitlines()) - 1 == 128


@pytest.mark.parametrize(("dimension", "member"), STRAYED)
async def test_a_segment_in_the_index_of_another_part_is_found_out(log, dimension, member):
    """Or a member that is not a segment at all."""
    key = log.keyspace.audit_by(dimension, INDEXES[dimension], 1)
    if not await log.client.call("EXISTS", key):
        key = log.keyspace.audit_by(dimension, "other", 1)
    await log.client.call("ZADD", key, 1, member)
    found = await log.verify()
    assert (found.finding.fault, found.finding.segment, found.checkpoint.segment) == (Fault.CHANGED, 5, 4)
    assert f"says {member} in part 1, which is another's" in found.finding.message


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first sequence", "first ms", "last ms"])
async def test_a_part_whose_times_do_not_span_its_segments_is_detected(log, place):
    """Queries with times, a cursor or an offset would skip it."""
    span = (await log.client.call("HGET", log.keyspace.audit_parts, "1")).split(" ")
    span[place] = str(int(span[place]) + (1 if place < 2 else -1))
    await log.client.call("HSET", log.keyspace.audit_parts, "1", " ".join(span))
    found = await log.verify()
    assert found.finding.fault is Fault.CHANGED
    assert found.finding.segment in (3, 5)


async def test_a_wrong_list_of_frames_is_detected(log):
    """Readers derive the entries' sequences from it."""
    key = log.keyspace.audit_segment(5)
    frames = await log.client.call("HGET", key, "frames")
    await log.client.call("HSET", key, "frames", frames.replace("3:", "2:", 1))
    found = await log.verify()
    assert (found.finding.fault, found.finding.segment) == (Fault.CHANGED, 5)


async def test_of_two_faults_the_first_is_named(log):
    """An index that is wrong about segment 4, and entries that are wrong in 5."""
    await log.replace(log.keyspace.audit_by("result", "denied", 1), 4)
    await log.client.call("HSET", log.keyspace.audit_segment(5), "sha256", "0" * 64)
    found = await log.verify()
    assert (found.finding.segment, found.checkpoint.segment) == (4, 3)


async def test_a_verification_in_steps_compares_the_index_too(log):
    """Each step compares what it has read, wherever in a part it begins."""
    await log.replace(log.keyspace.audit_by("result", "denied", 1), 5)
    since, steps = None, 0
    while (found := await log.verify(since=since, segments_max=2)).finding is None:
        since, steps = found.checkpoint, steps + 1
    assert (steps, found.finding.segment) == (2, 5)


async def test_segments_dropped_by_retention_meanwhile_are_not_a_fault(log):
    """Its bodies were read, and its index is gone."""
    verifier = Verifier(log.client, log.workspace_id)
    compare = verifier._index.compare

    async def dropping_first():
        await grow_trees(log.client, log.workspace_id)
        await Retention(log.client, unarchived=True).drop_next(log.workspace_id, 1 << 50)
        return await compare()

    verifier._index.compare = dropping_first
    found = await verifier.verify()
    assert (found.finding, found.complete) == (None, True)


@pytest.mark.parametrize("lost", ["tool.1", "tool.3"])
async def test_a_deleted_index_of_a_tool_is_detected(log, lost):
    """Its entries then should be in an index that tools share, and they are not."""
    key = log.keyspace.audit_by("tool", name_of(lost), 1)
    had_its_own = await log.client.call("DEL", key)
    found = await log.verify()
    if had_its_own:
        assert found.finding.segment == 3
        assert f"The index by tool {shared_by(name_of(lost))[0]} says nothing, its entries 3:" in found.finding.message
    else:
        assert found.finding is None
