"""The Merkle tree over the leaves of one seal: RFC 6962, section 2.1, with the events' leaves as its data.

    hash of a leaf   = SHA-256(0x00 ‖ leaf)
    hash of a node   = SHA-256(0x01 ‖ left ‖ right)

A tree of n leaves has on its left the largest power of two that is smaller than n. The path of a leaf names the
sibling at each level from below; with it, the leaf, its index and n anybody can compute the root again. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def leaf_node(leaf: bytes) -> bytes:
    """The tree's hash of an event's leaf."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Growing:
    """A tree that takes leaves one by one and keeps one hash for each level, however many there are."""

    def __init__(self) -> None:
        self.size = 0
        # The whole subtrees so far, the largest first: one for each bit of `size`.
        self._whole: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Takes the next leaf."""
        found = leaf_node(leaf)
        size = self.size
        while size & 1:
            found = node(self._whole.pop(), found)
            size >>= 1
        self._whole.append(found)
        self.size += 1

    def root(self) -> bytes:
        """The root over all leaves so far.

        Raises:
            ValueError: there is none yet.
        """
        if not self._whole:
            raise ValueError("a tree needs a leaf")
        found = self._whole[-1]
        for left in reversed(self._whole[:-1]):
            found = node(left, found)
        return found


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root over these leaves, at least one."""
    tree = Growing()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def climb(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """The root that a leaf's path leads to; b"" when the path is too short or too long for a tree of that size."""
    found, steps, last = leaf_node(leaf), list(path), size - 1
    while last:
        if index & 1 or index < last:
            if not steps:
                return b""
            other = steps.pop(0)
            found = node(other, found) if index & 1 else node(found, other)
        index >>= 1
        last >>= 1
    return b"" if steps else found


class Paths:
    """Every level of a tree, to take the paths of many of its leaves."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self.size = len(leaves)
        level = [leaf_node(leaf) for leaf in leaves]
        self._levels = [level]
        while len(level) > 1:
            # An odd one at the end goes up as it is: what the split at powers of two comes to.
            above = [node(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
            level = [*above, *level[len(above) * 2 :]]
            self._levels.append(level)

    def of(self, index: int) -> list[bytes]:
        """The path of the leaf at `index`, from below."""
        path = []
        for level in self._levels[:-1]:
            sibling = index ^ 1
            if sibling < len(level):
                path.append(level[sibling])
            index >>= 1
        return path
