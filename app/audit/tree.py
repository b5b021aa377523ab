"""The Merkle trees beside the chains: that of a log and that of its trail of changes, as stored, and proofs from them.

The stored part has the roots of each 256 leaves, in tiles, the roots of each 256 of these, and the frontier. What lies
below is hashed again when a proof needs it, from the entries or changes themselves.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from app.audit.merkle import (
    EMPTY_LEAF,
    HASH_BYTES,
    TILE_LEVELS,
    Frontier,
    Range,
    consistency_ranges,
    folded,
    inclusion_ranges,
    node_hash,
    root_of,
    subtrees,
)
from app.errors import AuditLogDamaged
from app.redis_client.client import Client

BLOCK = 1 << TILE_LEVELS
Leaves = Callable[[int, int], Awaitable[Sequence[bytes]]]
"""The leaf hashes from the first index up to, and without, the second. Raises AuditLogDamaged."""


class Dropped(AuditLogDamaged):
    """Retention dropped leaves without which this cannot be proved."""


class TreeState(NamedTuple):
    """A tree as stored. at: the last segment, or the id of the last change, whose leaves it has."""

    frontier: Frontier = Frontier()
    at: str = ""


async def read_tree(client: Client, key: str) -> TreeState:
    """The tree as stored; an empty one if there is none. Raises AuditLogDamaged."""
    size, at, frontier = await client.call("HMGET", key, "size", "at", "frontier")
    return tree_of(size, at, frontier)


def tree_of(size: str | None, at: str | None, frontier: str | None) -> TreeState:
    """The tree described by the store's reply. Raises AuditLogDamaged."""
    if size is None and at is None and frontier is None:
        return TreeState()
    try:
        state = TreeState(Frontier(int(size or "x"), hashes_of(frontier or "")), at or "")
    except ValueError:
        state = TreeState(Frontier(-1))
    number, hashes = state.frontier
    if number < 0 or str(number) != size or len(hashes) != number.bit_count():
        raise AuditLogDamaged("The Merkle tree of the audit log cannot be read")
    return state


def hashes_of(text: str) -> tuple[bytes, ...]:
    """The hashes in a text, as `text_of` writes them. Raises ValueError."""
    hashes = tuple(bytes.fromhex(each) for each in text.split())
    if text_of(hashes) != text or any(len(each) != HASH_BYTES for each in hashes):
        raise ValueError
    return hashes


def text_of(hashes: Sequence[bytes]) -> str:
    """Hashes as the store has them: in hex, with spaces between."""
    return " ".join(each.hex() for each in hashes)


def tile_place(level: int, index: int) -> tuple[str, int]:
    """The field with the root of a subtree of level `level * 8`, and the byte at which it begins there."""
    return f"{level}:{index // BLOCK}", index % BLOCK * HASH_BYTES


class Tree:
    """Reads one stored tree, for one proof: what it has read, it keeps.

    floor: leaves before it were dropped; floor_hashes: the subtrees that end there, of less than 256 leaves, largest
    first. None: they were dropped before there was a tree, which then has EMPTY_LEAF in the place of each.
    """

    def __init__(
        self, client: Client, key: str, leaves: Leaves, floor: int = 0, floor_hashes: tuple[bytes, ...] | None = None
    ) -> None:
        self._client = client
        self._key = key
        self._leaves = leaves
        self._floor = floor
        self._dropped: dict[tuple[int, int], bytes] | None = None
        if floor_hashes is not None:
            places = subtrees(floor - floor % BLOCK, floor)
            self._dropped = dict(zip(places, floor_hashes, strict=True))
        self._tiles: dict[str, bytes] = {}
        self._blocks: dict[Range, Sequence[bytes]] = {}

    async def inclusion(self, index: int, size: int) -> list[bytes]:
        """The proof that the tree of this size has the leaf with this index. Raises AuditLogDamaged."""
        return [await self.hash(*each) for each in inclusion_ranges(index, size)]

    async def consistency(self, old: int, size: int) -> list[bytes]:
        """The proof that the tree of this size begins with that of the old size. Raises AuditLogDamaged."""
        return [await self.hash(*each) for each in consistency_ranges(old, size)]

    async def frontier(self, size: int) -> Frontier:
        """The frontier that the tree had at this size. Raises AuditLogDamaged."""
        return Frontier(size, tuple([await self._subtree(*each) for each in subtrees(0, size)]))

    async def floor_hashes(self, size: int) -> list[bytes]:
        """The hashes to keep if the leaves before `size` are dropped, as `floor_hashes` of a tree that begins there."""
        return [await self._subtree(*each) for each in subtrees(size - size % BLOCK, size)]

    async def hash(self, start: int, end: int) -> bytes:
        """The hash of a range that a proof can name; from 0, the root of a tree. Raises AuditLogDamaged."""
        return folded([await self._subtree(*each) for each in subtrees(start, end)])

    async def _subtree(self, level: int, index: int) -> bytes:
        if level >= TILE_LEVELS:
            tiles, within = divmod(level, TILE_LEVELS)
            field, offset = tile_place(tiles, index << within)
            count = 1 << within
            found = (await self._tile(field))[offset : offset + count * HASH_BYTES]
            if len(found) != count * HASH_BYTES:
                raise AuditLogDamaged("The Merkle tree of the audit log lacks hashes that it had")
            return root_of([found[at : at + HASH_BYTES] for at in range(0, len(found), HASH_BYTES)])
        start, end = index << level, (index + 1) << level
        if start >= self._floor:
            return root_of(await self._leaves_of(start, end))
        if self._dropped is not None and (level, index) in self._dropped:
            return self._dropped[level, index]
        if self._dropped is None and end <= self._floor:
            return root_of([EMPTY_LEAF] * (end - start))
        if level == 0 or end <= self._floor:
            raise Dropped(f"Retention dropped entry {start + 1}, so nothing can be proved about it any more")
        return node_hash(await self._subtree(level - 1, 2 * index), await self._subtree(level - 1, 2 * index + 1))

    async def _leaves_of(self, start: int, end: int) -> Sequence[bytes]:
        """The leaves, read with all of their block that proofs may need, once."""
        block = max(self._floor, start - start % BLOCK)
        known = self._blocks.get((block, end))
        if known is None:
            known = next((self._blocks[each] for each in self._blocks if each[0] == block and each[1] >= end), None)
        if known is None:
            known = self._blocks[block, end] = await self._leaves(block, end)
        return known[start - block : end - block]

    async def _tile(self, field: str) -> bytes:
        if field not in self._tiles:
            self._tiles[field] = await self._client.call_bytes("HGET", self._key, field) or b""
        return self._tiles[field]
