"""What each kind of verification finds: the table of docs/audit.md, row by row, on a log that is tampered with.

The log has eight segments of 16 entries and three entries in the stream; of six changes the chain covers four. The
checkpoint is of that state.
"""

import re
from pathlib import Path

import pytest
from audit_entries import AGENTS, KEY, Writer, grow_trees, own_database, repair_and_seal, written_once
from forged_log import ForgedLog

from app.audit.index import name_of
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.audit.segments import read_segment
from app.audit.trail_chain import LAST_ID, seal_changes, trail_genesis, unsealed_trails
from app.audit.tree import read_tree
from app.audit.verify.verifier import Verifier
from app.errors import StoreUnavailable
from app.model.checkpoints import Checkpoint
from app.model.notes import OF_CHANGES, Note, origin_of
from app.redis_client.clients import open_client
from app.settings import Settings
from app.store.keyspace import WORKSPACES

WORKSPACE = "018bcfe5-6800-7000-8000-000000000a11"
PAGE = (Path(__file__).parents[2] / "docs/audit.md").read_text()
INDEXES = [
    ("agent", f"{AGENTS[0]}:allowed"),
    ("tool", name_of("file.read")),
    ("action", name_of("authorize")),
    ("result", "allowed"),
    ("rule", name_of("tool_allowlist")),
    ("key", KEY),
]
CHANGE = "actorId", "console", "actorName", "console", "kind", "updated", "resourceType", "policy", "before", "{}"


@pytest.fixture
async def client(valkey_store):
    opened = open_client(own_database(valkey_store), 5_000)
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
def saved():
    """What the log's keys contained once it was written."""
    return []


class Log(ForgedLog):
    """A log, and ways to damage it."""

    def __init__(self, client, workspace_id):
        super().__init__(client, workspace_id)
        self.writer = Writer(client, workspace_id)

    async def write(self):
        await self.writer.append(8 * 16 + 3)
        for _ in range(8):
            await Sealer(self.client, 16, 100).seal_next(self.workspace_id)
        for number in range(1, 7):
            await self.call("XADD", self.keys.changes, f"{1000 + number}-0", *CHANGE, "after", number)
            if number == 4:
                assert await seal_changes(self.client, self.workspace_id) == 4
        await grow_trees(self.client, self.workspace_id)
        return self

    async def verify(self, since=None, note=None):
        return await Verifier(self.client, self.workspace_id).verify(since, note=note)

    async def notes(self):
        """What would be signed now of the log and of its trail of changes."""
        origin = origin_of("remit.example.com", self.workspace_id)
        log, trail = [
            (await read_tree(self.client, key)).frontier for key in (self.keys.audit_tree, self.keys.changes_tree)
        ]
        return Note(origin, log.size, log.root), Note(origin + OF_CHANGES, trail.size, trail.root)

    async def rebuild(self, key, change):
        """Rebuild the stream `key` from what `change` makes of its entries: a list of ids and fields."""
        entries = await self.client.call_bytes("XRANGE", key, "-", "+")
        entries = [(entry_id.decode(), list(fields)) for entry_id, fields in entries]
        await self.call("DEL", key)
        for entry_id, fields in change(entries):
            await self.call("XADD", key, entry_id, *fields)

    async def drop(self, *numbers):
        for number in numbers:
            await self.call("DEL", self.keys.audit_segment(number), self.keys.audit_data(number))


def edited(entries, place, old, new):
    return [
        (entry_id, [each.replace(old, new) for each in fields] if at == place else fields)
        for at, (entry_id, fields) in enumerate(entries)
    ]


def swapped(entries):
    (one, a), (two, b), *rest = entries
    return [(one, b), (two, a), *rest]


async def remove_from_stream(log):
    await log.call("XDEL", log.keys.audit_stream, "130-0")


async def remove_newest_from_stream(log):
    await log.call("XDEL", log.keys.audit_stream, "131-0")


async def remove_newest_and_count_back(log):
    await log.rebuild(log.keys.audit_stream, lambda entries: entries[:-1])
    await log.call("HSET", log.keys.commits, "sequence", 130)


async def change_in_stream(log):
    await log.rebuild(log.keys.audit_stream, lambda entries: edited(entries, 1, b"allows", b"denies"))


async def garble_in_stream(log):
    await log.rebuild(log.keys.audit_stream, lambda entries: edited(entries, 1, b"allowed", b"perhaps"))


async def swap_in_stream(log):
    await log.rebuild(log.keys.audit_stream, swapped)


async def insert_into_stream(log):
    await log.call("XADD", log.keys.audit_stream, "131-1", "a", "b")


async def append_to_stream(log):
    ((_, fields),) = await log.client.call_bytes("XRANGE", log.keys.audit_stream, "131-0", "131-0")
    await log.call("XADD", log.keys.audit_stream, "132-0", *fields)


async def count_back(log):
    await log.call("HSET", log.keys.commits, "sequence", 129)


async def truncate_stream_and_count_back(log):
    await log.call("DEL", log.keys.audit_stream)
    await log.call("HSET", log.keys.commits, "sequence", 100)


async def garble_count(log):
    await log.call("HSET", log.keys.commits, "sequence", "nan")


async def truncate_stream(log):
    await log.call("DEL", log.keys.audit_stream)


async def change_in_segment(log):
    await log.forge(4, hashed=False)


async def change_in_segment_with_hash(log):
    await log.forge(4, hashed=True)


async def change_in_segment_with_all_links(log):
    await log.forge_with_links(4)


async def change_in_segment_with_everything(log):
    await log.forge_with_links(4, tree=True)


async def remove_segment(log):
    await log.drop(4)


async def swap_segments(log):
    records = [
        (await log.record(each), await log.client.call_bytes("GET", log.keys.audit_data(each))) for each in (4, 5)
    ]
    await log.put(4, *records[1])
    await log.put(5, *records[0])


async def insert_segment(log):
    await log.put(
        9, await log.record(8) | {b"number": b"9"}, await log.client.call_bytes("GET", log.keys.audit_data(8))
    )


async def truncate_segments(log):
    await log.drop(7, 8)


async def truncate_segments_with_head(log):
    seven = await read_segment(log.client, log.keys, 7)
    await log.drop(8)
    await log.head(segment=7, sequence=seven.last_sequence, sha256=seven.sha256)


async def truncate_everything_after(log):
    await truncate_segments_with_head(log)
    await log.call("DEL", log.keys.audit_stream)
    await log.call("HSET", log.keys.commits, "sequence", 112)


async def truncate_everything_and_index(log):
    await truncate_everything_after(log)
    await log.call("DEL", log.keys.audit_tree)
    await grow_trees(log.client, log.workspace_id)
    for dimension, value in INDEXES:
        key = log.keys.audit_by(dimension, value, 0)
        for member in await log.call("ZRANGE", key, 0, -1):
            if member.startswith("8:"):
                await log.call("ZREM", key, member)
    rows = await log.call("ZRANGE", log.keys.audit_by_all(0), 0, -1)
    await log.call("ZREM", log.keys.audit_by_all(0), rows[-1])
    await log.call("HDEL", log.keys.audit_columns(0), 8)


async def raise_floor(log):
    three = await read_segment(log.client, log.keys, 3)
    await log.drop(1, 2, 3)
    await log.head(floor_segment=4, floor_sequence=49, floor_ms=three.last_ms, floor_sha256=three.sha256)


async def raise_floor_as_if_archived(log):
    await raise_floor(log)
    await log.head(archived=8)


async def forge_head(log):
    await log.head(sha256="0" * 64)


async def set_head_back(log):
    seven = await read_segment(log.client, log.keys, 7)
    await log.head(segment=7, sequence=seven.last_sequence, sha256=seven.sha256)


async def set_head_forward(log):
    await log.head(segment=10**14)


async def garble_head(log):
    await log.head(segment="9" * 30)


async def remove_head(log):
    await log.call("DEL", log.keys.audit_head)


async def change_codec(log):
    await log.call("HSET", log.keys.audit_segment(4), "codec", "none")


async def replace_segment_by_another_type(log):
    await log.call("DEL", log.keys.audit_data(4))
    await log.call("HSET", log.keys.audit_data(4), "a", "b")


async def garble_parts(log):
    await log.call("HSET", log.keys.audit_parts, "0", "1 2")


async def remove_from_index(log):
    await log.call("ZREM", log.keys.audit_by("result", "allowed", 0), "4:16:1")


async def change_index(log):
    await log.call("ZREM", log.keys.audit_by("result", "allowed", 0), "4:16:1")
    await log.call("ZADD", log.keys.audit_by("result", "allowed", 0), 1, "4:15:1")


async def forge_in_index(log):
    await log.call("ZADD", log.keys.audit_by("result", "allowed", 0), 1, "100:16:1")


async def forge_in_index_of_all(log):
    await log.call("ZADD", log.keys.audit_by_all(0), 1, "100:16:1601:1:1")


async def change_score_in_index(log):
    await log.call("ZADD", log.keys.audit_by("result", "allowed", 0), 1, "4:16:1")


async def change_score_in_index_of_all(log):
    members = await log.call("ZRANGE", log.keys.audit_by_all(0), 0, -1)
    await log.call("ZADD", log.keys.audit_by_all(0), 1, members[3])


async def remove_index_of_a_tool(log):
    await log.call("DEL", log.keys.audit_by("tool", name_of("file.read"), 0))


async def remove_columns(log):
    await log.call("HDEL", log.keys.audit_columns(0), 4)


async def change_columns(log):
    key = log.keys.audit_columns(0)
    await log.call("HSET", key, 4, await log.client.call_bytes("HGET", key, 5))


async def remove_from_index_of_all(log):
    members = await log.call("ZRANGE", log.keys.audit_by_all(0), 0, -1)
    await log.call("ZREM", log.keys.audit_by_all(0), members[3])


async def remove_change(log):
    await log.call("XDEL", log.keys.changes, "1002-0")


async def remove_newest_change(log):
    await log.call("XDEL", log.keys.changes, "1006-0")


async def remove_newest_change_and_rebuild(log):
    await log.rebuild(log.keys.changes, lambda entries: entries[:-1])


async def change_change(log):
    await log.rebuild(log.keys.changes, lambda entries: edited(entries, 1, b"policy", b"agent"))


async def change_unchained_change(log):
    await log.rebuild(log.keys.changes, lambda entries: edited(entries, 5, b"policy", b"agent"))


async def swap_changes(log):
    await log.rebuild(log.keys.changes, swapped)


async def insert_change(log):
    await log.rebuild(log.keys.changes, lambda entries: [*entries[:2], ("1002-7", entries[1][1]), *entries[2:]])


async def append_change(log):
    await log.call("XADD", log.keys.changes, "1007-0", *CHANGE, "after", "forged")


async def truncate_changes(log):
    await log.call("DEL", log.keys.changes)


async def forge_chain_of_changes(log):
    await change_change(log)
    await log.call("DEL", log.keys.changes_chain, log.keys.changes_tree)
    await seal_changes(log.client, log.workspace_id)
    await grow_trees(log.client, log.workspace_id)


async def remove_chain_of_changes(log):
    await log.call("DEL", log.keys.changes_chain)


async def change_link_of_changes(log):
    await log.rebuild(log.keys.changes_chain, lambda entries: edited(entries, 0, b"1004-0", b"-"))


async def change_what_a_link_builds_on(log):
    (_, fields), *_ = await log.client.call_bytes("XRANGE", log.keys.changes_chain, "-", "+")
    previous = dict(zip(fields[::2], fields[1::2], strict=True))[b"previous"]
    await log.rebuild(log.keys.changes_chain, lambda entries: edited(entries, 0, previous, b"0" * 64))


async def remove_trail_and_chain(log):
    await log.call("DEL", log.keys.changes, log.keys.changes_chain, log.keys.changes_tree)


async def change_frontier(log):
    await log.call("HSET", log.keys.audit_tree, "frontier", "0" * 64)


async def set_tree_back(log):
    await log.call("HSET", log.keys.audit_tree, "size", 0, "at", "", "frontier", "")


async def remove_tree(log):
    await log.call("DEL", log.keys.audit_tree, log.keys.changes_tree)


async def change_frontier_of_changes(log):
    await log.call("HSET", log.keys.changes_tree, "frontier", "0" * 64)


TAMPERINGS = [
    (remove_from_stream, "removed", "removed", "removed"),
    (remove_newest_from_stream, "truncated", "truncated", "truncated"),
    (remove_newest_and_count_back, None, "truncated", None),
    (change_in_stream, None, "rewritten", None),
    (garble_in_stream, "changed", "changed", "changed"),
    (swap_in_stream, None, "rewritten", None),
    (insert_into_stream, "inserted", "inserted", "inserted"),
    (append_to_stream, "inserted", "inserted", "inserted"),
    (count_back, "inserted", "inserted", "inserted"),
    (truncate_stream_and_count_back, "changed", "changed", "changed"),
    (garble_count, "changed", "changed", "changed"),
    (truncate_stream, "truncated", "truncated", "truncated"),
    (change_in_segment, "changed", None, "changed"),
    (change_in_segment_with_hash, "changed", "changed", "changed"),
    (change_in_segment_with_all_links, "changed", "rewritten", "changed"),
    (change_in_segment_with_everything, None, "rewritten", "rewritten"),
    (remove_segment, "removed", "removed", "removed"),
    (swap_segments, "reordered", "reordered", "reordered"),
    (insert_segment, "inserted", "inserted", "inserted"),
    (truncate_segments, "truncated", "truncated", "truncated"),
    (truncate_segments_with_head, "removed", "truncated", "removed"),
    (truncate_everything_after, "changed", "truncated", "changed"),
    (truncate_everything_and_index, None, "truncated", "truncated"),
    (raise_floor, "removed", "removed", "removed"),
    (raise_floor_as_if_archived, "changed", "changed", "changed"),
    (forge_head, "changed", "changed", "changed"),
    (set_head_back, "changed", "truncated", "changed"),
    (set_head_forward, "truncated", "truncated", "truncated"),
    (garble_head, "changed", "changed", "changed"),
    (remove_head, "changed", "truncated", "changed"),
    (change_codec, "changed", None, "changed"),
    (replace_segment_by_another_type, "changed", "changed", "changed"),
    (garble_parts, "changed", None, "changed"),
    (remove_from_index, "changed", None, "changed"),
    (change_index, "changed", None, "changed"),
    (forge_in_index, "changed", None, "changed"),
    (forge_in_index_of_all, "changed", "changed", "changed"),
    (change_score_in_index, "changed", None, "changed"),
    (change_score_in_index_of_all, "changed", "changed", "changed"),
    (remove_index_of_a_tool, "changed", None, "changed"),
    (remove_columns, "changed", None, "changed"),
    (change_columns, "changed", None, "changed"),
    (remove_from_index_of_all, "changed", "changed", "changed"),
    (remove_change, "removed", "removed", "removed"),
    (remove_newest_change, "truncated", "truncated", "truncated"),
    (remove_newest_change_and_rebuild, None, "truncated", None),
    (change_change, "changed", "changed", "changed"),
    (change_unchained_change, None, "rewritten", None),
    (swap_changes, "changed", "changed", "changed"),
    (insert_change, "inserted", "inserted", "inserted"),
    (append_change, None, None, None),
    (truncate_changes, "truncated", "truncated", "truncated"),
    (forge_chain_of_changes, None, "rewritten", "rewritten"),
    (remove_chain_of_changes, "changed", "changed", "changed"),
    (change_link_of_changes, "inserted", "inserted", "inserted"),
    (change_what_a_link_builds_on, "changed", "changed", "changed"),
    (remove_trail_and_chain, None, "truncated", "truncated"),
    (change_frontier, "changed", "changed", "changed"),
    (set_tree_back, None, None, "truncated"),
    (remove_tree, None, None, "truncated"),
    (change_frontier_of_changes, "changed", "changed", "changed"),
]
QUICK_ROWS = 3
ROWS = [
    pytest.param(*each, id=each[0].__name__, marks=() if place % QUICK_ROWS == 0 else pytest.mark.slow)
    for place, each in enumerate(TAMPERINGS)
]
"""One in three is a quick test."""


@pytest.fixture
async def log(client, saved):
    return await written_once(Log(client, WORKSPACE), saved)


@pytest.mark.parametrize(("tamper", "plain", "with_checkpoint", "with_notes"), ROWS)
async def test_each_tampering_is_found_by_what_the_page_says(log, tamper, plain, with_checkpoint, with_notes):
    """By a plain verification, with the newest checkpoint, or with the signed ones: named, or known not to be found."""
    kept, notes = Checkpoint.parse((await log.verify()).checkpoint.line), await log.notes()
    await tamper(log)
    for since, wanted in ((None, plain), (kept, with_checkpoint)):
        found = (await log.verify(since)).finding
        assert (found and found.fault.value) == wanted, (since and "checkpoint", found)
    findings = [(await log.verify(note=note)).finding for note in notes]
    faults = [found and found.fault.value for found in findings]
    assert next((fault for fault in faults if fault != plain), plain) == with_notes, findings


def test_the_page_has_a_row_for_each_tampering():
    """It says what finds the tampering; row and test have the same name."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w-]+) \| ([\w-]+) \| ([\w-]+) \|$", PAGE, re.MULTILINE)
    assert rows == [(act.__name__, *(each or "-" for each in found)) for act, *found in TAMPERINGS]


async def test_a_verification_without_new_entries_repeats_the_checkpoint(log):
    """The same line as before, and no finding."""
    kept = (await log.verify()).checkpoint
    for _ in range(2):
        found = await log.verify(Checkpoint.parse(kept.line))
        assert (found.finding, found.complete, found.checkpoint) == (None, True, kept)


async def test_entries_unsealed_at_a_checkpoint_are_compared_after_sealing(log):
    """Its entries and changes have moved into segments and links meanwhile."""
    kept = (await log.verify()).checkpoint
    await log.writer.append(4)
    for entries in (2, 16):
        await Sealer(log.client, entries, 100).seal_next(log.workspace_id)
    assert await seal_changes(log.client, log.workspace_id) == 2
    found = await log.verify(kept)
    assert (found.finding, found.complete, found.segments, found.unsealed) == (None, True, 2, 0)
    assert found.checkpoint.rest.linked == 6
    assert (await log.verify(found.checkpoint)).finding is None


async def test_a_checkpoint_of_an_earlier_release_still_counts(log):
    """It has five words: the segment, but neither stream nor changes."""
    line = " ".join((await log.verify()).checkpoint.line.split()[:5])
    assert (await log.verify(Checkpoint.parse(line))).complete
    await log.drop(2)
    assert (await log.verify(Checkpoint.parse(line))).finding.segment == 2


async def test_a_floor_set_by_retention_is_not_a_finding(log):
    """Whether archived or not: the head says why it is there."""
    await Retention(log.client, unarchived=True).drop_next(log.workspace_id, 2**50)
    found = await log.verify()
    assert (found.finding, found.first_segment) == (None, 2)


async def test_a_partial_verification_says_what_it_did_not_check(log):
    """A verification in steps, and one after a checkpoint."""
    part = await Verifier(log.client, log.workspace_id).verify(None, 3)
    assert part.checked == ("segments 1 to 3: 48 entries, links and index",)
    assert part.unchecked == ("what follows segment 3, and the stream", "changes")
    later = await log.verify(part.checkpoint)
    assert later.unchecked == ("segments before 4: entries, and the index by agent, tool, action and result",)
    assert [each.split(":")[0] for each in later.checked] == [
        "segments 4 to 8",
        "segments before 4",
        "stream",
        "changes",
    ]


async def test_concurrent_writers_never_fork_the_chain_of_changes(log):
    """The script accepts only a link that builds on the newest one."""
    genesis = trail_genesis(log.workspace_id)
    assert genesis.sha256 != trail_genesis(log.workspace_id[::-1]).sha256
    assert sorted([await seal_changes(log.client, log.workspace_id) for _ in range(2)]) == [0, 2]
    assert await log.call("XLEN", log.keys.changes_chain) == 2


async def test_the_highest_id_in_the_trail_can_be_removed_as_the_page_says(log):
    """Nothing can follow it, and the chain does not take it up; with it gone, changes are made and chained again."""
    await log.call("XADD", log.keys.changes, LAST_ID, "foo", "bar")
    assert await seal_changes(log.client, log.workspace_id) == 2
    assert await seal_changes(log.client, log.workspace_id) == 0
    with pytest.raises(StoreUnavailable):
        await log.call("XADD", log.keys.changes, "*", *CHANGE, "after", "")
    [script] = re.findall(r"^redis-cli EVAL \"([^\"]+)\" 1 'remit:\{WORKSPACE ID}:changes'$", PAGE, re.MULTILINE)
    await log.call("EVAL", script, 1, log.keys.changes)
    await log.call("XADD", log.keys.changes, "*", *CHANGE, "after", "")
    assert await seal_changes(log.client, log.workspace_id) == 1
    assert (await log.verify()).finding is None


async def test_the_background_process_chains_changes_within_two_runs(log):
    """Trails without changes are not touched, and a deleted one does not stop the others."""
    await log.call("HSET", WORKSPACES, log.workspace_id, log.workspace_id)
    for _ in range(2):
        await repair_and_seal(log.client, Settings())
    assert await unsealed_trails(log.client, [log.workspace_id]) == []
    assert [each[0] for each in await log.call("XRANGE", log.keys.changes_chain, "-", "+")] == ["4-0", "6-0"]
    await log.call("XDEL", log.keys.changes, "1003-0")
    await log.call("XADD", log.keys.changes, "1008-0", *CHANGE, "after", "8")
    await repair_and_seal(log.client, Settings())
    assert (await log.call("XREVRANGE", log.keys.changes_chain, "+", "-", "COUNT", 1))[0][0] == "7-0"
    await log.call("HDEL", WORKSPACES, log.workspace_id)
