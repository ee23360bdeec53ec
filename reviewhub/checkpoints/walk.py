"""One value of a state, followed back along the way that a branch came. Of the blobs it reads those that it meets."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.recall import blobs_in, rows_of
from reviewhub.checkpoints.rows import Op, read_row
from reviewhub.checkpoints.skeleton import Blobs, Bones, Leaf, Node, Ref, Skeleton, chunk_of, resolve
from reviewhub.core.changes import segments
from reviewhub.core.errors import Invalid

MOST = 1000
"""Checkpoints that one walk looks at."""
SECONDS = 5.0
"""For how long one goes on, about: it is asked between two manifests."""
_LEAST = 2
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


@dataclass(frozen=True)
class Sight:
    """A checkpoint (its content left out) and the canonical text of the value in it; None where there is none."""

    checkpoint: Checkpoint
    value: str | None


@dataclass(frozen=True)
class Rest:
    """What a walk that had to end did not see.

    `last` is the oldest checkpoint that was looked at. The next walk begins with it once more, so that what changed
    between it and the one before is seen. So far `looked_at` of the `of` checkpoints on the whole way were.
    """

    last: Checkpoint
    looked_at: int
    of: int


class Walk:
    """`back`, for as long as one request may take. After it `rest` says what is left; None when it came to its end.

    Args and errors as those of `back`, and:
        after: the `last` of the walk that this one goes on with; None for the first.
        most: checkpoints to look at, and `seconds` for which, about; two at least.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        path: str,
        *,
        after: Checkpoint | None = None,
        most: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self._first, self._path, self._after = checkpoint, path, after
        self._most = max(MOST if most is None else most, _LEAST)
        self._until = time.monotonic() + (SECONDS if seconds is None else seconds)
        self.rest: Rest | None = None

    def __iter__(self) -> Iterator[Sight]:
        last: Checkpoint | None = None
        for count, sight in enumerate(back(self._after or self._first, self._path)):
            if last is not None and (
                count >= self._most or (count >= _LEAST and time.monotonic() > self._until)
            ):
                whole = way_length(self._first)
                self.rest = Rest(last, whole - way_length(last) + 1, whole)
                return
            last = sight.checkpoint
            yield sight


def way_length(checkpoint: Checkpoint) -> int:
    """How many checkpoints there are from the run's first to this one, across forks; removed ones do not count."""
    here: Checkpoint | None = checkpoint
    count = 0
    while here is not None:
        rows = Checkpoint.objects.filter(branch_id=here.branch_id, number__lte=here.number).order_by()
        count += rows.count()
        here = _origin(here)
    return count


def back(checkpoint: Checkpoint, path: str) -> Iterator[Sight]:
    """The value at `path` in a checkpoint, the one before it and so on, across forks, to the run's first.

    Of removed checkpoints it tells nothing: after one that is there comes the next older one that is. What it tells is
    not checked against the hashes of the states, since it reads no whole state; `load` does that.

    Args:
        path: a JSON pointer into the state, below its root.

    Raises:
        Invalid: the path is no such pointer.
        BrokenCheckpoint: rows or blobs are damaged.
    """
    keys = _keys(path)
    here: Checkpoint | None = checkpoint
    while here is not None:
        seen = _segment(here, keys)
        yield from reversed(seen)
        here = _before(seen[0].checkpoint)


def value_in(text: str, keys: Sequence[str]) -> str | None:
    """The canonical text of what `keys` lead to in a canonical text; None when there is nothing."""
    if not keys:
        return text
    tree: Tree = canonical.reread(text)
    for key in keys:
        if isinstance(tree, dict) and key in tree:
            tree = tree[key]
        elif isinstance(tree, list) and _INDEX.fullmatch(key) and int(key) < len(tree):
            tree = tree[int(key)]
        else:
            return None
    return canonical.dumps(tree)


def _before(first: Checkpoint) -> Checkpoint | None:
    """The newest ancestor that is there; those between it and `first` may have been removed."""
    older = _rows().filter(branch_id=first.branch_id, number__lt=first.number).order_by("-number").first()
    return older if older is not None else _origin(first)


def _origin(checkpoint: Checkpoint) -> Checkpoint | None:
    """The checkpoint that its branch was forked from; it stays as long as anything of a run does."""
    fork_of = checkpoint.branch.fork_of
    return None if fork_of is None else _rows().filter(pk=fork_of).first()


def _rows() -> QuerySet[Checkpoint]:
    return Checkpoint.objects.select_related("branch").defer("content")


def _keys(path: str) -> list[str]:
    try:
        keys = segments(path)
    except ValueError as error:
        raise Invalid.at("/path", str(error), "invalid_path") from error
    if not keys:
        raise Invalid.at("/path", "names the whole state; name a value in it", "root")
    return keys


def _segment(checkpoint: Checkpoint, keys: list[str]) -> list[Sight]:
    """The value in each row from the manifest to `checkpoint`; looked up anew only where a row touches it."""
    rows = Checkpoint.objects.filter(
        branch_id=checkpoint.branch_id, number__gte=checkpoint.base, number__lte=checkpoint.number
    )
    rows = rows.select_related("branch").defer("content").order_by("number")
    look, skeleton = _Look(checkpoint, keys), Skeleton()
    value: str | None = None
    seen: list[Sight] = []
    for row, text in zip(rows, rows_of(checkpoint)[0], strict=True):
        ops = read_row(text)
        skeleton.apply(ops)
        if any(_touches(op, keys) for op in ops):
            value = look.at(skeleton.nodes.get(keys[0]))
        seen.append(Sight(row, value))
    return seen


def _touches(op: Op, keys: list[str]) -> bool:
    field, *member = op.path
    return field == keys[0] and (not member or len(keys) == 1 or member[0] == keys[1])


class _Look:
    """Finds a value in skeletons of one run; a blob is fetched once, and a text that was searched is not again."""

    def __init__(self, checkpoint: Checkpoint, keys: list[str]) -> None:
        self._run_id = checkpoint.run_id
        self._keys = keys
        self._blobs = Blobs()
        self._last: tuple[str, str | None] | None = None

    def at(self, node: Node | None) -> str | None:
        """The text of the value, where `node` is its field."""
        rest = self._keys[1:]
        if isinstance(node, dict):
            if not rest:
                self._fetch([hash_ for leaf in node.values() for hash_ in _hashes(leaf)])
                return resolve(node, self._blobs).text
            node, rest = node.get(rest[0]), rest[1:]
        if isinstance(node, Bones) and rest:
            return self._in(self._item(node, rest[0]), rest[1:])
        if node is None:
            return None
        self._fetch(_hashes(node))
        return self._in(resolve(node, self._blobs).text, rest)

    def _item(self, bones: Bones, key: str) -> str | None:
        if not _INDEX.fullmatch(key) or int(key) >= bones.length:
            return None
        (part,) = bones.between(int(key), int(key) + 1)
        if not isinstance(part, list):
            self._fetch([part.hash])
        (text,) = chunk_of(part, self._blobs).lines
        return text

    def _in(self, text: str | None, keys: list[str]) -> str | None:
        if text is None:
            return None
        if self._last is None or self._last[0] != text:
            self._last = (text, value_in(text, keys))
        return self._last[1]

    def _fetch(self, hashes: list[str]) -> None:
        if missing := self._blobs.missing(hashes):
            self._blobs.add(blobs_in(self._run_id, missing))


def _hashes(leaf: Leaf) -> list[str]:
    if isinstance(leaf, Ref):
        return [leaf.hash]
    return [part.hash for part in leaf.parts if not isinstance(part, list)] if isinstance(leaf, Bones) else []
