"""Archive and retention: entries are archived before they are dropped, and no answer is silently incomplete."""

import asyncio
import hashlib
import tracemalloc

import msgspec
import pytest
import zstandard
from audit_entries import AGENTS, START_MS, Writer, decoded, entry_of, grow_trees

from app.audit import segments as audit_segments
from app.audit.archive import MANIFEST, Archive
from app.audit.log import AuditLog
from app.audit.manifest import read_manifest
from app.audit.read.export import export
from app.audit.read.follow import follow, resumed
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.audit.verify.verifier import Verifier
from app.errors import AuditLogDamaged, Invalid, StoreUnavailable
from app.model.archives import ManifestQuery
from app.model.audit import AuditQuery, Floor, Format
from app.model.checkpoints import Fault
from app.model.decisions import Result
from app.redis_client.scripts import DROP_SEGMENT
from app.serve.jobs import background_jobs
from app.settings import Settings
from app.store.keyspace import WORKSPACES, Keyspace

NEVER_MS = START_MS + 10**9


@pytest.fixture
def client(valkey_client):
    return valkey_client


@pytest.fixture
async def writer(client, workspace_id, monkeypatch):
    """Eight segments of 16 entries in parts of three segments, and five entries in the stream."""
    monkeypatch.setattr(audit_segments, "PART_SEGMENTS", 3)
    writer, sealer = Writer(client, workspace_id), Sealer(client, 16, 3)
    await writer.append_each({"agentId": AGENTS[n % 4], "toolName": f"tool.{n % 7}"} for n in range(133))
    for _ in range(8):
        await sealer.seal_next(workspace_id)
    await grow_trees(client, workspace_id)
    return writer


@pytest.fixture
def archive(tmp_path, workspace_id):
    return Archive(tmp_path, workspace_id)


async def drop(client, workspace_id, most, *, before_ms=NEVER_MS, unarchived=True):
    """Drop segments; return their numbers."""
    retention = Retention(client, unarchived=unarchived)
    dropped = []
    while len(dropped) < most and (number := await retention.drop_next(workspace_id, before_ms)):
        dropped.append(number)
    return dropped


async def index_keys(client, workspace_id):
    _, keys = await client.call("SCAN", 0, "MATCH", f"remit:{{{workspace_id}}}:audit:by:*", "COUNT", 100_000)
    return keys


async def test_nothing_is_dropped_before_it_is_archived(client, writer, workspace_id, archive):
    """Unless configured otherwise; the newest segment is archived too, but stays."""
    assert await drop(client, workspace_id, 99, unarchived=False) == []
    assert await archive.write(client) == 8
    assert await drop(client, workspace_id, 99, unarchived=False) == [1, 2, 3, 4, 5, 6, 7]


async def test_the_script_itself_refuses_what_is_not_archived_or_not_the_oldest(client, writer, workspace_id):
    """What was read before the script may have changed since, so the script checks again."""
    keyspace = writer.keyspace
    sha256 = [await client.call("HGET", keyspace.audit_segment(number), "sha256") for number in (1, 2)]

    async def ask(number, unarchived, digest):
        keys = [keyspace.audit_head, keyspace.audit_segment(number), keyspace.audit_data(number), keyspace.audit_parts]
        keys += [keyspace.audit_columns(0), keyspace.audit_names(0), keyspace.audit_hours(0)]
        return (await client.run(DROP_SEGMENT, keys, [number, digest, 17, 0, unarchived, "", ""]))[0]

    assert await ask(1, "0", sha256[0]) == "kept"
    assert await ask(2, "1", sha256[1]) == "kept"
    assert await ask(1, "1", sha256[1]) == "kept"
    assert await client.call("EXISTS", keyspace.audit_segment(1)) == 1
    assert await ask(1, "1", sha256[0]) == "dropped"


async def test_only_segments_without_a_young_entry_are_dropped(client, writer, workspace_id):
    """Whole segments, oldest first: of 40 old entries, 32 fill two segments that hold no others."""
    assert await drop(client, workspace_id, 99, before_ms=START_MS + 41) == [1, 2]


async def test_what_was_dropped_leaves_nothing_behind(client, writer, workspace_id):
    """Segments, their places in the index, and the parts that ended."""
    await drop(client, workspace_id, 5)
    for number in range(1, 6):
        gone = (writer.keyspace.audit_segment(number), writer.keyspace.audit_data(number))
        assert not await client.call("EXISTS", *gone)
    held = [await client.call("ZRANGE", key, 0, -1) for key in await index_keys(client, workspace_id)]
    assert {int(member.split(":")[0]) for members in held for member in members} == {6, 7, 8}
    assert sorted(await client.call("HKEYS", writer.keyspace.audit_parts)) == ["2"]


async def test_a_query_that_reaches_below_the_floor_says_so(client, writer, workspace_id):
    """A query that does not reach below it says nothing: its page is full, or it asks only for later times."""
    await drop(client, workspace_id, 5)
    log = AuditLog(client)
    everything = await log.query(workspace_id, AuditQuery(limit=1000))
    assert decoded(everything) == [entry_of(fields) for fields in reversed(writer.written[80:])]
    assert (everything.floor.segment, everything.floor.sequence, everything.floor.time_ms) == (6, 81, START_MS + 80)
    assert (await log.query(workspace_id, AuditQuery(limit=10))).floor is None
    assert (await log.query(workspace_id, AuditQuery(limit=1000, from_ms=START_MS + 81))).floor is None
    assert isinstance((await log.query(workspace_id, AuditQuery(agent_id=AGENTS[1]))).floor, Floor)


async def test_queries_of_what_is_left_are_as_before(client, writer, workspace_id):
    """Every filter, with offsets and cursors."""
    await drop(client, workspace_id, 4)
    for query in (
        AuditQuery(agent_id=AGENTS[1], limit=1000),
        AuditQuery(tool_name="tool.3", limit=1000),
        AuditQuery(offset=60, limit=1000),
        AuditQuery(agent_id=AGENTS[2], offset=10, limit=5),
        AuditQuery(before=80, limit=1000),
    ):
        kept = [fields["id"] for fields in writer.written[64:]]
        expected = [entry for entry in writer.expected(query) if entry["id"] in kept]
        assert decoded(await AuditLog(client).query(workspace_id, query)) == expected


async def test_the_chain_verifies_across_the_cut(client, writer, workspace_id, archive):
    """From the floor, from a checkpoint made before the cut, and from the archive into the store."""
    early = (await Verifier(client, workspace_id).verify(segments_max=5)).checkpoint
    await archive.write(client)
    await drop(client, workspace_id, 5, unarchived=False)
    found = await Verifier(client, workspace_id).verify()
    assert (found.finding, found.complete, found.first_segment, found.entries) == (None, True, 6, 48)
    assert (await Verifier(client, workspace_id).verify(since=early)).finding is None
    last = archive.verify()
    assert (last.segment, last.sequence) == (8, 128)
    assert (await Verifier(client, workspace_id).verify(since=last)).complete


async def test_the_manifest_of_the_store_is_that_of_the_archive(client, writer, workspace_id, archive):
    """Byte for byte, as far as the store still has the segments; a removed segment is damage, a dropped one is not."""

    async def lines(after=0):
        found = await read_manifest(client, workspace_id, ManifestQuery(after=after, limit=3))
        rest = await lines(found.segments[-1].segment) if found.segments else []
        return [*map(msgspec.json.encode, found.segments), *rest]

    assert (await read_manifest(client, workspace_id, ManifestQuery())).archived_up_to == 0
    await archive.write(client)
    written = (archive.folder / MANIFEST).read_bytes().splitlines()
    assert await lines() == written
    await drop(client, workspace_id, 5, unarchived=False)
    assert await lines() == written[5:]
    found = await read_manifest(client, workspace_id, ManifestQuery(limit=1))
    assert (found.archived_up_to, found.sealed_up_to, found.first_segment) == (8, 8, 6)
    assert found.archived_at == msgspec.json.decode(written[-1])["lastTime"]
    await client.call("DEL", Keyspace(workspace_id).audit_segment(7))
    with pytest.raises(AuditLogDamaged, match="Segment 7"):
        await lines()


async def test_a_checkpoint_from_below_the_floor_is_not_called_intact(client, writer, workspace_id, archive):
    """It cannot be compared with what retention dropped; one from just below the floor can, and so can the archive."""
    early = (await Verifier(client, workspace_id).verify(segments_max=4)).checkpoint
    await archive.write(client)
    await drop(client, workspace_id, 5, unarchived=False)

    found = await Verifier(client, workspace_id).verify(since=early)

    assert (found.finding.fault, found.finding.segment, found.complete) == (Fault.REMOVED, 5, False)
    assert "give a checkpoint of segment 5 or later" in found.finding.message
    assert (await Verifier(client, workspace_id).verify(since=archive.verify())).complete


@pytest.mark.parametrize("archived", [0, 4])
async def test_a_gap_between_archive_and_log_is_found(client, writer, workspace_id, archive, archived):
    """Segments that are in neither; an archive that has none at all goes up to the beginning."""
    await archive.write(client)
    manifest = archive.folder / MANIFEST
    manifest.write_bytes(b"".join(manifest.read_bytes().splitlines(keepends=True)[:archived]))
    assert (await Verifier(client, workspace_id).verify(since=archive.verify())).complete
    await drop(client, workspace_id, 5)

    found = await Verifier(client, workspace_id).verify(since=archive.verify())

    assert (found.finding.fault, found.finding.segment) == (Fault.REMOVED, archived + 1)
    assert f"The log begins with segment 6, and what it is compared with ends with segment {archived}" in str(found)


async def test_a_floor_that_was_moved_is_found_out(client, writer, workspace_id):
    """Deleting segments by hand breaks the chain, because the floor holds the dropped segment's hash."""
    await drop(client, workspace_id, 2)
    await client.call("HSET", writer.keyspace.audit_head, "floor_segment", 4, "floor_sequence", 49)
    await client.call("DEL", writer.keyspace.audit_segment(3))
    found = await Verifier(client, workspace_id).verify()
    assert (found.finding.fault, found.finding.segment) == (Fault.REMOVED, 3)


async def test_an_archive_is_read_with_zstd_alone(client, writer, workspace_id, archive):
    """Every sealed entry, oldest first."""
    await archive.write(client)
    expected = [entry_of(fields) for fields in writer.written[:128]]
    assert [msgspec.json.decode(line) for line in archive.lines()] == expected
    rows = archive.rows()
    assert [row.segment for row in rows] == list(range(1, 9))
    names = sorted(path.name for path in archive.folder.iterdir())
    assert names == sorted([MANIFEST, *(f"{number}.jsonl.zst" for number in range(1, 9))])


async def test_archiving_goes_on_where_it_ended_even_after_a_crash(client, writer, workspace_id, archive):
    """Half a line and half a file are what a crash leaves; the segment is written again."""
    await archive.write(client)
    sealer = Sealer(client, 16, 3)
    await writer.append(11)
    await sealer.seal_next(workspace_id)
    with (archive.folder / MANIFEST).open("ab") as manifest:
        manifest.write(b'{"segment":9,"fi')
    (archive.folder / "9.jsonl.part").write_bytes(b"half")

    assert await archive.write(client) == 1

    assert archive.verify().segment == 9
    assert await archive.write(client) == 0


async def test_of_two_runs_at_once_one_writes_the_archive(client, writer, workspace_id, tmp_path):
    """The other says so and writes nothing: a manifest with lines of both could never be verified again."""
    runs = [Archive(tmp_path, workspace_id) for _ in range(3)]
    done = await asyncio.gather(*(each.write(client) for each in runs), return_exceptions=True)

    assert done[0] == 8
    assert all(isinstance(each, Invalid) and "Another run is writing to" in str(each) for each in done[1:]), done
    assert [row.segment for row in runs[0].rows()] == list(range(1, 9))
    assert runs[1].verify().segment == 8
    assert await runs[2].write(client) == 0


@pytest.mark.parametrize("harm", ["change", "delete", "swap"])
async def test_an_archive_that_was_tampered_with_is_found_out(client, writer, workspace_id, archive, harm):
    """The first file that differs from what was sealed is named."""
    await archive.write(client)
    third, fourth = archive.folder / "3.jsonl.zst", archive.folder / "4.jsonl.zst"
    if harm == "change":
        third.write_bytes(third.read_bytes()[:-4] + b"oops")
    elif harm == "delete":
        third.unlink()
    else:
        held = third.read_bytes()
        third.write_bytes(fourth.read_bytes())
        fourth.write_bytes(held)
    with pytest.raises(AuditLogDamaged, match=r"^3\.jsonl\.zst"):
        archive.verify()


async def test_a_file_that_would_fill_the_auditors_memory_is_refused(client, writer, workspace_id, archive):
    """A few kilobytes can hold gigabytes, and whoever wrote the file wrote its hash in the manifest, too."""
    await archive.write(client)
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 28))
    third, manifest = archive.folder / "3.jsonl.zst", archive.folder / "manifest.jsonl"
    honest = hashlib.sha256(third.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text().replace(honest, hashlib.sha256(bomb).hexdigest()))
    third.write_bytes(bomb)
    tracemalloc.start()
    try:
        with pytest.raises(AuditLogDamaged, match=r"^3\.jsonl\.zst holds over 16777216 bytes of entries"):
            archive.verify()
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


async def test_a_damaged_segment_is_not_archived(client, writer, workspace_id, archive):
    """It stays in the store for inspection, and so does everything after it."""
    await client.call("HSET", writer.keyspace.audit_segment(4), "sha256", "0" * 64)
    with pytest.raises(AuditLogDamaged, match="Segment 4"):
        await archive.write(client)
    assert await drop(client, workspace_id, 99, unarchived=False) == []


async def test_an_export_after_a_drop_says_where_it_begins(client, writer, workspace_id):
    """The end record has the first sequence that the log still had."""
    await drop(client, workspace_id, 5)
    pieces = b"".join([piece async for piece in export(client, workspace_id, AuditQuery(), Format.NDJSON)])
    assert msgspec.json.decode(pieces.splitlines()[-1]) == {
        "end": {"entries": 53, "firstSequence": 81, "lastSequence": 133}
    }


OVERTAKEN = [
    AuditQuery(),
    AuditQuery(agent_id=AGENTS[1]),
    AuditQuery(tool_name="tool.3", result=Result.ALLOWED),
    AuditQuery(to_ms=START_MS + 90),
]


@pytest.mark.parametrize(
    ("query", "ahead"),
    [(OVERTAKEN[0], 1), (OVERTAKEN[0], 3), *((query, 0) for query in OVERTAKEN)],
    ids=["all, second chunk", "all, fourth chunk", "all", "agent", "tool", "times"],
)
async def test_an_export_that_retention_overtakes_fails(client, writer, workspace_id, query, ahead):
    """After any number of chunks: segments dropped from the index meanwhile are not mistaken for segments without
    matches.
    """
    pieces = []

    async def overtaken():
        async for piece in export(client, workspace_id, query, Format.NDJSON):
            pieces.append(piece)
            if len(pieces) == ahead + 1:
                await drop(client, workspace_id, 7)

    with pytest.raises(StoreUnavailable, match="dropped"):
        await overtaken()
    assert b'"end"' not in b"".join(pieces)


async def test_an_export_continues_if_retention_drops_only_entries_outside_its_span(client, writer, workspace_id):
    """What retention dropped could not have matched."""
    query, pieces = AuditQuery(from_ms=START_MS + 100), []
    async for piece in export(client, workspace_id, query, Format.NDJSON):
        pieces.append(piece)
        await drop(client, workspace_id, 1, before_ms=START_MS + 81)
    assert msgspec.json.decode(b"".join(pieces).splitlines()[-1])["end"]["entries"] == 34


async def test_a_follower_is_told_when_retention_overtakes_it(client, writer, workspace_id):
    """It fails instead of skipping entries; a follower that reconnects continues at the floor and is told so."""
    stopping, seen = asyncio.Event(), []

    async def overtaken():
        async for stretch in follow(client, workspace_id, AuditQuery(), 0, stopping):
            seen.extend(stretch.sequences)
            if len(seen) == 32:
                await drop(client, workspace_id, 7)

    with pytest.raises(StoreUnavailable, match="Entries 33 to 112 were dropped"):
        await overtaken()
    assert seen == list(range(1, 33))
    after, floor = await resumed(client, workspace_id, 32)
    assert (after, floor.segment) == (112, 8)
    assert await resumed(client, workspace_id, 112) == (112, None)
    rest = []
    async for stretch in follow(client, workspace_id, AuditQuery(), after, stopping):
        rest += stretch.sequences
        if rest and rest[-1] == 133:
            stopping.set()
    assert rest == list(range(113, 134))


async def drop_old(client, settings):
    """What the background process drops, in one run of its job."""
    async with background_jobs(client, settings) as jobs:
        [retention] = [job for job in jobs if job.name == "apply retention"]
        return await retention.run(asyncio.Event())


async def test_the_compactor_drops_what_is_older_than_the_setting(client, writer, workspace_id):
    """By the store's clock, and only if a retention is set. These entries are from the future, so none is old."""
    name = f"name of {workspace_id}"
    await client.call("HSET", WORKSPACES, name, workspace_id)
    settings = Settings(audit_retention_days=1, audit_drop_unarchived=True)
    assert await drop_old(client, settings) == 0
    for number in range(1, 5):
        await client.call("HSET", writer.keyspace.audit_segment(number), "last_ms", 1_000)
    try:
        assert await drop_old(client, settings) == 4
    finally:
        await client.call("HDEL", WORKSPACES, name)
