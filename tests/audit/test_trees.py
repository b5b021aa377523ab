"""The stored Merkle trees: what is sealed is in them once, in its place, and everything that is kept is provable."""

import asyncio
import os
import random

import pytest
from audit_entries import Writer, grow_trees, is_included
from test_merkle import naive_root

from app.audit.merkle import EMPTY_LEAF, EMPTY_ROOT, Frontier, is_consistent, leaf_hash, leaf_hashes
from app.audit.read.forward_reader import ForwardReader
from app.audit.seal.compactor import Compactor
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.audit.seal.tree_growth import TreeGrower
from app.audit.trail_chain import change_line, seal_changes
from app.audit.tree import BLOCK, Tree, TreeState, read_tree
from app.audit.trees import read_log_tree, trail_tree
from app.audit.verify.verifier import Verifier
from app.model.audit import AuditFilters
from app.model.checkpoints import Fault, Part
from app.model.notes import Note
from app.settings import Settings
from app.store.keyspace import WORKSPACES

ENTRIES = 600
CHANGE = "actorId", "console", "kind", "updated", "after"


@pytest.fixture
async def writer(client, workspace_id):
    """A log of six full segments of 100 entries, and nothing in the stream."""
    writer, sealer = Writer(client, workspace_id), Sealer(client, 100, 100)
    await writer.append(ENTRIES)
    while await sealer.seal_next(workspace_id):
        pass
    return writer


async def lines_of(client, workspace_id, after=0, until=ENTRIES):
    chunks = ForwardReader(client, workspace_id, AuditFilters()).chunks(after, until)
    return b"".join([chunk.body async for chunk in chunks]).splitlines()


async def test_the_compactor_puts_each_line_into_the_tree_as_it_seals(client, workspace_id):
    """Leaf i is the line of entry i + 1, without its line feed; the root is that of the definition."""
    await client.call("HSET", WORKSPACES, workspace_id, workspace_id)
    writer = Writer(client, workspace_id)
    await writer.append(ENTRIES)
    await Compactor(client, Settings(audit_segment_entries=100)).sweep()
    await client.call("HDEL", WORKSPACES, workspace_id)
    state = await read_tree(client, writer.keyspace.audit_tree)
    lines = await lines_of(client, workspace_id)
    assert (state.at, state.frontier.size, len(lines)) == ("6", ENTRIES, ENTRIES)
    assert state.frontier.root == naive_root(lines)
    assert await client.call_bytes("HGET", writer.keyspace.audit_tree, "1:0") == b"".join(
        naive_root(lines[at : at + BLOCK]) for at in (0, 256)
    )


async def test_every_entry_and_every_older_tree_is_provable(client, writer, workspace_id):
    """Against the tree at any later size, whether or not it ends with a segment."""
    await grow_trees(client, workspace_id)
    lines, draw = await lines_of(client, workspace_id), random.Random(1)
    for size in (1, 255, 256, 257, 512, 599, 600):
        tree, root = await read_log_tree(client, workspace_id), naive_root(lines[:size])
        assert await tree.hash(0, size) == root
        for index in {0, size - 1, *(draw.randrange(size) for _ in range(4))}:
            assert is_included(leaf_hash(lines[index]), index, size, await tree.inclusion(index, size), root)
        for old in (1, 100, 256, size // 2, size):
            if 0 < old <= size:
                proof = await tree.consistency(old, size)
                assert is_consistent(old, naive_root(lines[:old]), size, root, proof)


async def test_a_large_tree_is_read_in_tiles(client, workspace_id):
    """70,000 leaves reach the second level of tiles; steps end anywhere, and hashes of a step go into two tiles."""
    leaves = [leaf_hash(b"%d" % number) for number in range(70_000)]
    key, grower, state = f"remit:{{{workspace_id}}}:audit:tree", TreeGrower(client), TreeState()
    for start, end in ((0, 1), (1, 50_000), (50_000, 65_500), (65_500, 65_600), (65_600, 70_000)):
        state = await grower._append(key, state, leaves[start:end], str(end))
    assert await read_tree(client, key) == state

    async def read(start, end):
        assert end - start <= BLOCK, "more than a block is read"
        return leaves[start:end]

    root = state.frontier.root
    for index in (0, 255, 65_279, 65_535, 65_536, 69_999):
        proof = await Tree(client, key, read).inclusion(index, 70_000)
        assert is_included(leaves[index], index, 70_000, proof, root)
    old = Frontier().extended(leaves[:65_700]).frontier
    assert await Tree(client, key, read).frontier(65_700) == old
    assert is_consistent(65_700, old.root, 70_000, root, await Tree(client, key, read).consistency(65_700, 70_000))
    assert sorted(await client.call("HKEYS", key)) == ["1:0", "1:1", "2:0", "at", "frontier", "size"]


async def test_what_retention_keeps_stays_provable(client, writer, workspace_id):
    """Segments end within a block of 256; what was dropped from it is kept as hashes. Verification goes on."""
    await grow_trees(client, workspace_id)
    lines, retention = await lines_of(client, workspace_id), Retention(client, unarchived=True)
    root = naive_root(lines)
    for first in (101, 201, 301, 401):
        assert await retention.drop_next(workspace_id, 1 << 50)
        assert (await Verifier(client, workspace_id).verify()).finding is None
        for index in (first - 1, first, 511, 512, 599):
            proof = await (await read_log_tree(client, workspace_id)).inclusion(index, ENTRIES)
            assert is_included(leaf_hash(lines[index]), index, ENTRIES, proof, root)
    assert (await Verifier(client, workspace_id).verify()).first_segment == 5


async def test_a_checkpoint_of_what_retention_dropped_is_not_called_a_change(client, writer, workspace_id):
    """It cannot be compared any more, unless it is of whole blocks of 256; a newer one can."""
    await grow_trees(client, workspace_id)
    lines, retention = await lines_of(client, workspace_id), Retention(client, unarchived=True)
    notes = {size: Note(f"log.example/{workspace_id}", size, naive_root(lines[:size])) for size in (50, 256, 350)}
    while (await Verifier(client, workspace_id).verify()).first_segment < 4:
        assert await retention.drop_next(workspace_id, 1 << 50)

    found = {size: (await Verifier(client, workspace_id).verify(note=note)).finding for size, note in notes.items()}

    assert (found[50].fault, found[50].part, found[256], found[350]) == (Fault.REMOVED, Part.TREE, None, None)
    assert found[50].message.endswith("of the first 50, which the checkpoint has seen: give a newer one")


async def test_retention_waits_for_the_tree(client, writer, workspace_id):
    """What it dropped before could never be put in."""
    assert await Retention(client, unarchived=True).drop_next(workspace_id, 1 << 50) is None
    await grow_trees(client, workspace_id)
    assert await Retention(client, unarchived=True).drop_next(workspace_id, 1 << 50) == 1


async def test_what_was_dropped_before_there_was_a_tree_has_empty_leaves(client, writer, workspace_id):
    """If the tree was lost; what the log has kept is provable in its place."""
    await grow_trees(client, workspace_id)
    for _ in range(3):
        await Retention(client, unarchived=True).drop_next(workspace_id, 1 << 50)
    await client.call("HDEL", writer.keyspace.audit_head, "floor_tree")
    await client.call("DEL", writer.keyspace.audit_tree)
    await grow_trees(client, workspace_id)
    kept = await lines_of(client, workspace_id, 300)
    leaves = [EMPTY_LEAF] * 300 + [leaf_hash(line) for line in kept]
    root = Frontier().extended(leaves).frontier.root
    assert (await read_tree(client, writer.keyspace.audit_tree)).frontier.root == root
    proof = await (await read_log_tree(client, workspace_id)).inclusion(300, ENTRIES)
    assert is_included(leaves[300], 300, ENTRIES, proof, root)
    assert (await Verifier(client, workspace_id).verify()).finding is None


async def test_the_trail_has_its_tree(client, workspace_id):
    """Leaf i is the line of change i + 1; changes that are not chained yet are not in it."""
    keys, lines = Writer(client, workspace_id).keyspace, []
    for number in range(1, 310):
        await client.call("XADD", keys.changes, f"{number}-0", *CHANGE, number)
        lines.append(change_line(b"%d-0" % number, [each.encode() for each in (*CHANGE, str(number))])[:-1])
        if number in (3, 300):
            await seal_changes(client, workspace_id)
            await grow_trees(client, workspace_id)
    state = await read_tree(client, keys.changes_tree)
    assert (state.frontier.size, state.at, state.frontier.root) == (300, "300-0", naive_root(lines[:300]))
    proof = await trail_tree(client, workspace_id).consistency(3, 300)
    assert is_consistent(3, naive_root(lines[:3]), 300, state.frontier.root, proof)
    assert (await Verifier(client, workspace_id).verify()).finding is None


@pytest.mark.parametrize("field", ["1:0", "frontier", "size", "at"])
async def test_an_altered_tree_is_found(client, writer, workspace_id, field):
    """A single bit of a tile, or the fields that say how to go on; also where a verification is done in steps."""
    await grow_trees(client, workspace_id)
    key = writer.keyspace.audit_tree
    value = await client.call_bytes("HGET", key, field)
    for altered in (value[:-1] + bytes([value[-1] ^ 1]), value[:-1]):
        await client.call("HSET", key, field, altered)
        found = (await Verifier(client, workspace_id).verify()).finding
        assert (found.fault, found.part) == ("changed", "tree"), altered
    await client.call("HSET", key, field, value)
    since = (await Verifier(client, workspace_id).verify(segments_max=4)).checkpoint
    assert (await Verifier(client, workspace_id).verify(since, continues=True)).finding is None


async def test_of_two_growers_one_appends(client, writer, workspace_id):
    """Every leaf is in the tree once, though each reads the same tree first."""
    growers = [TreeGrower(client) for _ in range(3)]
    while any(await asyncio.gather(*(each.catch_up_log(workspace_id) for each in growers))):
        pass
    root = naive_root(await lines_of(client, workspace_id))
    assert (await read_tree(client, writer.keyspace.audit_tree)).frontier.root == root


async def test_a_tree_of_another_past_is_not_continued(client, writer, workspace_id):
    """A store that went back in time may have a tree of the same size with other leaves."""
    key, grower = writer.keyspace.audit_tree, TreeGrower(client)
    await grow_trees(client, workspace_id)
    state = await read_tree(client, key)
    other = TreeState(Frontier(ENTRIES, tuple(os.urandom(32) for _ in state.frontier.hashes)), state.at)
    assert await grower._append(key, other, [EMPTY_LEAF], "7") is None
    assert await read_tree(client, key) == state


async def test_a_segment_that_was_changed_does_not_get_into_the_tree(client, writer, workspace_id, caplog):
    """The tree stays behind and the log names the segment; other workspaces' trees grow."""
    await client.call("HSET", WORKSPACES, workspace_id, workspace_id)
    await client.call("HSET", writer.keyspace.audit_segment(3), "sha256", "0" * 64)
    await TreeGrower(client).catch_up(asyncio.Event())
    await client.call("HDEL", WORKSPACES, workspace_id)
    assert (await read_tree(client, writer.keyspace.audit_tree)).frontier.size == 200
    assert "Segment 3 of the audit log" in caplog.text


def test_no_leaf_is_a_node_and_no_tree_is_empty_by_mistake():
    """The prefixes differ, and the root of nothing is the hash of nothing."""
    assert leaf_hashes([b"\n"]) == [EMPTY_LEAF] != [EMPTY_ROOT]
