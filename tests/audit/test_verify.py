"""Changes of the log are detected by recomputing the chain from the bodies."""

import pytest
from audit_entries import Writer
from msgspec.structs import replace

from app.audit.index_rows import Row, row_member
from app.audit.seal.sealer import Sealer
from app.audit.segments import chain, genesis, pack, part_of, read_segment
from app.audit.verify.verifier import Verifier
from app.errors import Invalid
from app.model.checkpoints import Checkpoint, Fault
from app.redis_client.replies import as_record


class Log:
    """Eight sealed segments of 16 entries and three entries in the stream, and ways to damage them."""

    def __init__(self, client, workspace_id):
        self.client, self.workspace_id = client, workspace_id
        self.writer = Writer(client, workspace_id)
        self.keyspace = self.writer.keyspace

    async def write(self):
        await self.writer.append(8 * 16 + 3)
        sealer = Sealer(self.client, 16, 100)
        for _ in range(8):
            await sealer.seal_next(self.workspace_id)
        return self

    async def verify(self, **options):
        return await Verifier(self.client, self.workspace_id).verify(**options)

    async def record(self, number):
        record = await self.client.call_bytes("HGETALL", self.keyspace.audit_segment(number))
        return as_record(record) | {b"data": await self.client.call_bytes("GET", self.keyspace.audit_data(number))}

    async def segment(self, number):
        return await read_segment(self.client, self.keyspace, number)

    async def put(self, number, record):
        await self.delete(number)
        await self.change(number, **{name.decode(): value for name, value in record.items()})

    async def change(self, number, /, **fields):
        if "data" in fields:
            await self.client.call("SET", self.keyspace.audit_data(number), fields.pop("data"))
        flat = [part for pair in fields.items() for part in pair]
        if flat:
            await self.client.call("HSET", self.keyspace.audit_segment(number), *flat)

    async def delete(self, *numbers):
        for number in numbers:
            await self.client.call("DEL", self.keyspace.audit_segment(number), self.keyspace.audit_data(number))

    async def relink(self, first, previous):
        """Recompute every link from `first` on, and the head, as a careful forger would."""
        for number in range(first, 9):
            segment = await self.segment(number)
            sha256 = chain(previous, segment.body())
            await self.change(number, previous=previous, sha256=sha256)
            previous = sha256
        await self.client.call("HSET", self.keyspace.audit_head, "sha256", previous)

    async def forge(self, number):
        """A segment whose first entry has another reason, which no index covers."""
        segment = await self.segment(number)
        body = segment.body().replace(b"allows", b"denies", 1)
        frames, data, digests = pack([body.splitlines(keepends=True)])
        await self.change(number, frames=frames, data=data, digests=digests)
        return body


@pytest.fixture
async def log(client, workspace_id):
    return await Log(client, workspace_id).write()


async def test_an_untouched_log_is_intact(log):
    """The result says how much was checked, and where the chain ends."""
    found = await log.verify()
    assert found.finding is None
    assert found.complete
    assert (found.first_segment, found.segments, found.entries, found.unsealed) == (1, 8, 128, 3)
    head = await log.client.call("HGET", log.keyspace.audit_head, "sha256")
    assert replace(found.checkpoint, rest=None) == Checkpoint(log.workspace_id, 8, 128, head, found.checkpoint.time_ms)
    assert (found.checkpoint.rest.newest, found.checkpoint.rest.changes) == (131, 0)
    assert (len(found.checked), found.unchecked) == (3, ())


async def test_an_empty_log_is_intact(client, workspace_id):
    """Nothing in it can be wrong."""
    found = await Verifier(client, workspace_id).verify()
    assert (found.finding, found.complete, found.checkpoint.segment) == (None, True, 0)
    again = await Verifier(client, workspace_id).verify(Checkpoint.parse(found.checkpoint.line))
    assert (again.complete, again.checkpoint) == (True, found.checkpoint)


async def change_body(log):
    await log.forge(4)


async def change_body_and_hash(log):
    body = await log.forge(4)
    await log.change(4, sha256=chain((await log.segment(4)).previous, body))


async def garble(log):
    await log.change(4, data=b"not zstd")


async def change_times(log):
    await log.change(4, first_ms=0)


async def hide_from_queries(log):
    members = await log.client.call("ZRANGE", log.keyspace.audit_by_all(0), 0, -1)
    await log.client.call("ZREM", log.keyspace.audit_by_all(0), members[3])


async def remove(log):
    await log.delete(4)


async def remove_and_close_up(log):
    for number in (4, 5, 6, 7):
        moved = await log.record(number + 1)
        await log.put(number, moved | {b"number": str(number)})
    await log.delete(8)
    await log.client.call("HSET", log.keyspace.audit_head, "segment", 7)


async def swap(log):
    four, five = await log.record(4), await log.record(5)
    await log.put(4, five)
    await log.put(5, four)


async def swap_and_renumber(log):
    four, five = await log.record(4), await log.record(5)
    await log.put(4, five | {b"number": b"4"})
    await log.put(5, four | {b"number": b"5"})


async def insert(log):
    for number in (8, 7, 6, 5, 4):
        moved = await log.record(number)
        await log.put(number + 1, moved | {b"number": str(number + 1)})
    forged = await log.record(5)
    body = (await log.segment(5)).body()
    forged |= {b"number": b"4", b"previous": "0" * 64, b"sha256": chain("0" * 64, body)}
    await log.put(4, forged)
    await log.client.call("HSET", log.keyspace.audit_head, "segment", 9)


async def append(log):
    await log.put(9, await log.record(8) | {b"number": b"9"})


async def truncate(log):
    await log.delete(7, 8)


async def truncate_with_the_head(log):
    seven = await log.segment(7)
    await log.delete(8)
    changed = ("segment", 7, "sequence", seven.last_sequence, "sha256", seven.sha256)
    await log.client.call("HSET", log.keyspace.audit_head, *changed)


async def change_the_head(log):
    await log.client.call("HSET", log.keyspace.audit_head, "sha256", "0" * 64)


async def delete_unsealed(log):
    await log.client.call("XDEL", log.keyspace.audit_stream, "131-0")


TAMPERED = [
    (change_body, Fault.CHANGED, 4),
    (garble, Fault.CHANGED, 4),
    (change_body_and_hash, Fault.CHANGED, 4),
    (change_times, Fault.CHANGED, 4),
    (hide_from_queries, Fault.CHANGED, 4),
    (remove, Fault.REMOVED, 4),
    (remove_and_close_up, Fault.REMOVED, 4),
    (swap, Fault.REORDERED, 4),
    (swap_and_renumber, Fault.REORDERED, 4),
    (insert, Fault.INSERTED, 4),
    (append, Fault.INSERTED, 9),
    (truncate, Fault.TRUNCATED, 7),
    (truncate_with_the_head, Fault.REMOVED, 8),
    (change_the_head, Fault.CHANGED, 9),
    (delete_unsealed, Fault.TRUNCATED, 9),
]


@pytest.mark.parametrize(("tamper", "fault", "segment"), TAMPERED, ids=[each[0].__name__ for each in TAMPERED])
async def test_the_first_segment_that_was_tampered_with_is_named(log, tamper, fault, segment):
    """Changed, removed, inserted, reordered, truncated: each with the place where it begins."""
    await tamper(log)
    found = await log.verify()
    assert not found.complete
    assert (found.finding.fault, found.finding.segment) == (fault, segment), found.finding.message
    assert found.checkpoint.segment == segment - 1


async def test_a_checkpoint_kept_elsewhere_exposes_a_log_rewritten_as_a_whole(log):
    """Without a checkpoint, only the chain's own consistency can be checked."""
    kept = Checkpoint.parse((await log.verify()).checkpoint.line)
    body = await log.forge(2)
    previous = (await log.segment(1)).sha256
    await log.relink(2, previous)
    assert body in (await log.segment(2)).body()
    assert (await log.verify()).finding is None

    found = await log.verify(since=kept)

    assert (found.finding.fault, found.finding.segment) == (Fault.REWRITTEN, 8)


async def test_a_checkpoint_from_before_the_forged_segment_finds_nothing_and_one_from_after_does(log):
    """A checkpoint vouches for everything up to it."""
    early = (await log.verify(segments_max=3)).checkpoint
    late = (await log.verify(segments_max=6)).checkpoint
    assert (early.segment, late.segment) == (3, 6)
    await log.forge(5)
    await log.relink(5, (await log.segment(4)).sha256)
    assert (await log.verify(since=early)).finding is None
    assert (await log.verify(since=late)).finding.fault is Fault.REWRITTEN


async def test_a_verification_goes_on_from_its_checkpoint(log):
    """In steps of three segments it sees each once, and ends complete."""
    seen, since = [], None
    for _ in range(3):
        found = await log.verify(since=since, segments_max=3)
        seen.append((found.first_segment, found.segments, found.complete))
        since = found.checkpoint
    assert seen == [(1, 3, False), (4, 3, False), (7, 2, True)]


async def test_a_log_cut_back_behind_a_checkpoint_is_truncated(log):
    """Even if stream and counters were cut with it."""
    kept = (await log.verify()).checkpoint
    await truncate_with_the_head(log)
    await log.client.call("DEL", log.keyspace.audit_stream)
    await log.client.call("HSET", log.keyspace.commits, "sequence", 112)
    assert "and there is no such segment" in (await log.verify()).finding.message  # for now the index remembers it
    assert (await log.verify(since=kept)).finding.fault is Fault.TRUNCATED


async def test_a_log_rewritten_after_a_checkpoint_is_detected(log):
    """Everything deleted, another log written, and a floor forged so that the checkpoint lies below it."""
    kept = (await log.verify()).checkpoint
    keyspace, forged = log.keyspace, "c" * 64
    await log.delete(*range(1, 9))
    await log.client.call("DEL", keyspace.audit_stream, keyspace.audit_by_all(0), keyspace.audit_parts)
    floor = ("floor_segment", 12, "floor_sequence", 177, "floor_ms", 0, "floor_sha256", forged)
    await log.client.call("HSET", keyspace.audit_head, "segment", 11, "sequence", 176, "sha256", forged, *floor)
    await log.client.call("HSET", keyspace.commits, "sequence", 176)

    found = await log.verify(since=kept)

    assert (found.finding.fault, found.finding.segment, found.complete) == (Fault.REMOVED, 9, False)


async def test_a_checkpoint_of_another_workspace_is_refused(log, ids):
    """Comparing with it would prove nothing."""
    with pytest.raises(Invalid, match="another workspace"):
        await log.verify(since=Checkpoint(ids.new(0), 0, 0, "0" * 64, 0))


@pytest.mark.parametrize("line", ["", "a b c d e", "018bcfe5-6800-7000-8000-000000000001 1 1 abc 2026-11-20T12:34:56Z"])
def test_a_line_that_is_no_checkpoint_is_refused(line):
    """The sentence says what a checkpoint looks like."""
    with pytest.raises(ValueError, match="is not a checkpoint"):
        Checkpoint.parse(line)


async def test_segments_sealed_during_the_verification_are_verified_too(log, client, workspace_id):
    """Verification ends at the head as it is when it gets there."""
    await log.writer.append(13)
    sealer = Sealer(client, 16, 100)

    def seal(done, of):
        pass

    verifier = Verifier(client, workspace_id)
    check_end = verifier._check_end

    async def sealing_first(link):
        await sealer.seal_next(workspace_id)
        return await check_end(link)

    verifier._check_end = sealing_first
    found = await verifier.verify(progress=seal)
    assert (found.finding, found.complete, found.segments, found.unsealed) == (None, True, 9, 0)


def test_a_genesis_belongs_to_one_workspace(ids):
    """The first segment of another workspace's log does not fit."""
    assert genesis(ids.new(0)) != genesis(ids.new(0))


def test_a_finding_in_the_index_names_its_part():
    """So a finding can be looked up."""
    assert (row_member(Row(130, 2, 3, 4, 5)), part_of(130)) == ("130:2:3:4:5", 1)
