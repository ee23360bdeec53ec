"""The tree of a seal, against RFC 6962 as it is written there."""

from __future__ import annotations

import hashlib

import pytest

from reviewhub.audit.merkle import Growing, Paths, climb, leaf_node, node, root_of


def by_the_book(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + by_the_book(leaves[:split]) + by_the_book(leaves[split:])).digest()


def path_by_the_book(index: int, leaves: list[bytes]) -> list[bytes]:
    """PATH of RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return []
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    if index < split:
        return [*path_by_the_book(index, leaves[:split]), by_the_book(leaves[split:])]
    return [*path_by_the_book(index - split, leaves[split:]), by_the_book(leaves[:split])]


@pytest.mark.parametrize("size", [*range(1, 34), 63, 64, 65])
def test_roots_and_paths_are_those_of_the_rfc(size: int) -> None:
    leaves = [bytes([n]) * 32 for n in range(size)]
    assert root_of(leaves) == by_the_book(leaves)
    paths = Paths(leaves)
    assert [paths.of(index) for index in range(size)] == [path_by_the_book(n, leaves) for n in range(size)]
    for index, leaf in enumerate(leaves):
        path = paths.of(index)
        assert climb(leaf, index, size, path) == root_of(leaves)
        assert climb(leaf, index, size, [*path, leaf]) != root_of(leaves)
        assert size == 1 or climb(leaf, index, size, path[1:]) != root_of(leaves)
        assert size == 1 or climb(leaf, index ^ 1, size, path) != root_of(leaves)


def test_leaves_and_nodes_are_kept_apart_and_an_empty_tree_has_no_root() -> None:
    assert leaf_node(b"a" * 64) != node(b"a" * 32, b"a" * 32)
    with pytest.raises(ValueError):
        Growing().root()
