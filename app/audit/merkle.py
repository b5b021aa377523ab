"""Merkle trees of RFC 6962: hashes, the frontier of a growing tree, and proofs as the ranges of leaves they hash.

A subtree is written as (level, index): the 2^level leaves from index * 2^level on.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

HASH_BYTES = 32
TILE_LEVELS = 8
"""A tile has the hashes of 256 subtrees; each hash of a tile is the root of a whole tile below it."""

EMPTY_ROOT = hashlib.sha256().digest()
_LEAF, _NODE = hashlib.sha256(b"\0"), hashlib.sha256(b"\1")

Range = tuple[int, int]
"""Leaves from the first index up to, and without, the second."""


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf with this data: SHA-256(0x00 ‖ data)."""
    digest = _LEAF.copy()
    digest.update(data)
    return digest.digest()


EMPTY_LEAF = leaf_hash(b"")


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of a node above these two: SHA-256(0x01 ‖ left ‖ right)."""
    digest = _NODE.copy()
    digest.update(left + right)
    return digest.digest()


def parents(nodes: Sequence[bytes]) -> list[bytes]:
    """The nodes one level up; an odd one at the end has no parent yet."""
    return [node_hash(left, right) for left, right in zip(nodes[::2], nodes[1::2], strict=False)]


def root_of(nodes: Sequence[bytes]) -> bytes:
    """The root of a subtree with these nodes, whose number is a power of two."""
    while len(nodes) > 1:
        nodes = parents(nodes)
    return nodes[0]


def folded(hashes: Sequence[bytes]) -> bytes:
    """The hash of a range from those of its subtrees, left to right, as `subtrees` gives them."""
    if not hashes:
        return EMPTY_ROOT
    *before, result = hashes
    for each in reversed(before):
        result = node_hash(each, result)
    return result


class Grown(NamedTuple):
    """A tree after it has grown: its frontier, and by tile level the index of the first new hash, and all of them."""

    frontier: "Frontier"
    hashes: dict[int, tuple[int, list[bytes]]]


class Frontier(NamedTuple):
    """All that is needed of a tree to go on: its size, and the hashes of the largest subtrees, left to right."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    @property
    def root(self) -> bytes:
        return folded(self.hashes)

    def extended(self, leaves: Sequence[bytes]) -> Grown:
        """The tree with these leaf hashes appended."""
        peaks = dict(zip((level for level, _ in subtrees(0, self.size)), self.hashes, strict=True))
        completed: dict[int, tuple[int, list[bytes]]] = {}
        nodes, level = list(leaves), 0
        while nodes:
            if level and level % TILE_LEVELS == 0:
                completed[level // TILE_LEVELS] = (self.size >> level, nodes)
            if level in peaks:
                nodes = [peaks.pop(level), *nodes]
            if len(nodes) % 2:
                peaks[level] = nodes[-1]
            nodes, level = parents(nodes), level + 1
        hashes = tuple(peaks[level] for level in sorted(peaks, reverse=True))
        return Grown(Frontier(self.size + len(leaves), hashes), completed)


def subtrees(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The largest subtrees that together are the range, left to right. The range is one that a proof can name."""
    while start < end:
        level = (end - start).bit_length() - 1
        if start:
            level = min(level, (start & -start).bit_length() - 1)
        yield level, start >> level
        start += 1 << level


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """The ranges whose hashes prove that the leaf is in the tree, from its sibling up (RFC 6962, 2.1.1)."""
    start, end = 0, size
    path: list[Range] = []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((start, middle))
            start = middle
    return path[::-1]


def consistency_ranges(old: int, size: int) -> list[Range]:
    """The ranges whose hashes prove that the tree continues its first `old` leaves (RFC 6962, 2.1.2)."""
    if not 0 < old < size:
        return []
    start, end, is_known = 0, size, True
    path: list[Range] = []
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((start, middle))
            start, is_known = middle, False
    return ([] if is_known else [(start, end)]) + path[::-1]


def is_consistent(old: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """True if the proof shows that the tree begins with the old one (RFC 9162, 2.1.4.2).

    Each hash must have the length of one: of a node's two hashes, another split would have the same bytes.
    """
    if old == size or not old:
        return not proof and (old != size or old_root == root)
    ranges = consistency_ranges(old, size)
    if not 0 < old < size or len(proof) != len(ranges) or any(len(each) != HASH_BYTES for each in proof):
        return False
    hashes = list(proof)
    # The first hash is that of a subtree which ends both trees' common part; if that is the whole old tree, its root.
    first, above = (old_root, ranges) if ranges[0][0] >= old else (hashes.pop(0), ranges[1:])
    was, now = first, first
    for (start, _), each in zip(above, hashes, strict=True):
        if start < old:
            was, now = node_hash(each, was), node_hash(each, now)
        else:
            now = node_hash(now, each)
    return was == old_root and now == root


def leaf_hashes(lines: Iterable[bytes]) -> list[bytes]:
    """The leaf hashes of lines, each given with its line feed, which is not part of the leaf."""
    return [leaf_hash(line[:-1]) for line in lines]


def _split(size: int) -> int:
    """The largest power of two below the size."""
    return 1 << (size - 1).bit_length() - 1
