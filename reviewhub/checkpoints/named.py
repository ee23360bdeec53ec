"""Which blobs the rows of a run name. Reads every row once, and no blob."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rows import Op, Refer, Splice, Stored, read_row, slide, unpack_text


@dataclass(frozen=True)
class Named:
    """The hashes that rows name, and which rows were read."""

    hashes: frozenset[bytes]
    rows: frozenset[uuid.UUID]


def named(run_id: uuid.UUID, *, without: Collection[uuid.UUID] = ()) -> Named:
    """The blobs that the checkpoints of a run need.

    Args:
        without: checkpoints that are left out; none of the others may stand on them.

    Raises:
        BrokenCheckpoint: a row cannot be read, so nobody knows what it names.
    """
    return _read(Checkpoint.objects.filter(run_id=run_id), without)


def named_since(run_id: uuid.UUID, seen: Named) -> Named:
    """The blobs that rows need which were not read yet, and those that such rows stand on. Raises BrokenCheckpoint."""
    rows = Checkpoint.objects.filter(run_id=run_id)
    new = {
        (branch, base)
        for pk, branch, base in rows.values_list("id", "branch_id", "base").iterator(2000)
        if pk not in seen.rows
    }
    found = [_read(rows.filter(branch_id=branch, base=base), ()) for branch, base in sorted(new)]
    return Named(
        frozenset().union(*(each.hashes for each in found)), frozenset().union(*(each.rows for each in found))
    )


def _read(chosen: QuerySet[Checkpoint], without: Collection[uuid.UUID]) -> Named:
    found: set[bytes] = set()
    rows: set[uuid.UUID] = set()
    window = b""
    columns = chosen.order_by("branch_id", "number").values_list("id", "number", "base", "content")
    for pk, number, base, content in columns.iterator(200):
        if pk in without:
            continue
        window = b"" if number == base else window
        text = unpack_text(bytes(content), window=window)
        window = slide(window, text)
        rows.add(pk)
        found.update(bytes.fromhex(hash_) for op in read_row(text) for hash_ in _hashes(op))
    return Named(frozenset(found), frozenset(rows))


def _hashes(op: Op) -> Iterator[str]:
    if isinstance(op, Refer):
        yield op.hash
    elif isinstance(op, Splice):
        yield from (part.hash for part in op.parts if isinstance(part, Stored))
