"""Trees and proofs against RFC 6962's own definitions, written down here without any code of the service."""

import hashlib

from audit_entries import is_included
from hypothesis import given
from hypothesis import strategies as st

from app.audit.merkle import (
    Frontier,
    consistency_ranges,
    folded,
    inclusion_ranges,
    is_consistent,
    leaf_hash,
    root_of,
    subtrees,
)

SIZES = st.integers(1, 600)


def naive_root(leaves):
    """MTH of section 2.1."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = largest_power_below(len(leaves))
    return hashlib.sha256(b"\x01" + naive_root(leaves[:k]) + naive_root(leaves[k:])).digest()


def largest_power_below(n):
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def naive_path(m, leaves):
    """PATH of section 2.1.1."""
    if len(leaves) == 1:
        return []
    k = largest_power_below(len(leaves))
    if m < k:
        return [*naive_path(m, leaves[:k]), naive_root(leaves[k:])]
    return [*naive_path(m - k, leaves[k:]), naive_root(leaves[:k])]


def naive_proof(m, leaves):
    """PROOF of section 2.1.2."""
    return naive_subproof(m, leaves, True) if 0 < m < len(leaves) else []


def naive_subproof(m, leaves, whole):
    if m == len(leaves):
        return [] if whole else [naive_root(leaves)]
    k = largest_power_below(len(leaves))
    if m <= k:
        return [*naive_subproof(m, leaves[:k], whole), naive_root(leaves[k:])]
    return [*naive_subproof(m - k, leaves[k:], False), naive_root(leaves[:k])]


def data(size):
    return [b"%d" % number for number in range(size)]


def hashes(leaves, ranges):
    return [
        folded(
            [root_of([leaf_hash(each) for each in leaves[i << level : (i + 1) << level]]) for level, i in subtrees(*r)]
        )
        for r in ranges
    ]


def test_the_roots_are_those_of_the_vectors_of_certificate_transparency():
    """The seven roots published with RFC 6962's reference implementation, and that of no leaves."""
    leaves = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    roots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]
    frontier = Frontier()
    assert frontier.root.hex() == roots[0]
    for leaf, root in zip(leaves, roots[1:], strict=True):
        frontier = frontier.extended([leaf_hash(bytes.fromhex(leaf))]).frontier
        assert frontier.root.hex() == root


@given(st.lists(st.integers(0, 700), max_size=6))
def test_a_tree_grown_in_any_steps_has_the_root_of_the_definition(steps):
    """And the hashes for its tiles are the roots of each 256 leaves, each once."""
    leaves, frontier, tiles = data(sum(steps)), Frontier(), []
    for step in steps:
        grown = frontier.extended([leaf_hash(each) for each in leaves[frontier.size : frontier.size + step]])
        frontier = grown.frontier
        for level, (first, new) in grown.hashes.items():
            assert (level, first) == (1, len(tiles))
            tiles += new
    assert frontier.root == naive_root(leaves)
    assert tiles == [naive_root(leaves[at : at + 256]) for at in range(0, len(leaves) // 256 * 256, 256)]


@given(SIZES, st.data())
def test_inclusion_proofs_are_those_of_the_definition_and_prove_only_their_leaf(size, draw):
    """At every index; with any hash altered, left out or added, or for another index or size, they prove nothing."""
    index = draw.draw(st.integers(0, size - 1))
    leaves = data(size)
    proof, root, leaf = hashes(leaves, inclusion_ranges(index, size)), naive_root(leaves), leaf_hash(leaves[index])
    assert proof == naive_path(index, leaves)
    assert is_included(leaf, index, size, proof, root)
    assert not is_included(leaf_hash(b"other"), index, size, proof, root)
    assert not is_included(leaf, index + 1, size, proof, root)
    assert not is_included(leaf, index, size, [*proof, root], root)
    for at in range(len(proof)):
        altered = [each[::-1] if at == place else each for place, each in enumerate(proof)]
        assert not is_included(leaf, index, size, altered, root)
        assert not is_included(leaf, index, size, proof[:at] + proof[at + 1 :], root)


@given(SIZES, st.data())
def test_consistency_proofs_are_those_of_the_definition_and_prove_only_their_trees(size, draw):
    """For every older size; a tree that differs in one older leaf is not consistent, whatever its proof."""
    old = draw.draw(st.integers(0, size))
    leaves = data(size)
    was, now = naive_root(leaves[:old]), naive_root(leaves)
    proof = hashes(leaves, consistency_ranges(old, size))
    assert proof == naive_proof(old, leaves)
    assert is_consistent(old, was, size, now, proof)
    if old:
        place = draw.draw(st.integers(0, old - 1))
        forged = [b"forged" if place == at else each for at, each in enumerate(leaves)]
        assert not is_consistent(old, was, size, naive_root(forged), hashes(forged, consistency_ranges(old, size)))
        assert not is_consistent(old, was, size, naive_root(forged), proof)
    if 0 < old < size:
        assert not is_consistent(old, was, size, now, [])
        assert not is_consistent(old, was[::-1], size, now, proof)
    assert not is_consistent(old, was, size, now, [*proof, now])
