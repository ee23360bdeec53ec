"""The last checkpoints that led to one, and how many bytes each wrote. Reads rows and the sizes of blobs only."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import IntegerField, QuerySet
from django.db.models.functions import Coalesce, Length

from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.checkpoints.recall import rows_of
from reviewhub.checkpoints.rows import BrokenCheckpoint, Op, Refer, Splice, Stored, read_row

MOST_MANIFEST_BYTES = 64_000_000
"""Where the manifests on the way are of states that have more bytes together, blobs are not looked for."""
BLOB_BYTES = Coalesce(Length("data"), "size", output_field=IntegerField())
"""Bytes of a blob as it is stored, wherever that is."""
_AT_ONCE = 500


@dataclass(frozen=True)
class Step:
    """A checkpoint, its content left out, and the bytes that it wrote: those of its row and of the blobs that were new.

    `blobs` is None where they are not known, because the rows on the way are too large or damaged.
    """

    checkpoint: Checkpoint
    row: int
    blobs: int | None

    @property
    def written(self) -> int:
        """The bytes that are known."""
        return self.row + (self.blobs or 0)


def line(checkpoint: Checkpoint, *, most: int) -> list[Step]:
    """The newest `most` checkpoints up to `checkpoint`, across forks, the oldest first.

    A blob counts for the first of them that names it, unless a row on the way there did already. Costs the rows from
    the manifest before the first one on, and a look at the sizes of blobs; no blob is read.
    """
    rows = _walk(checkpoint, most)
    try:
        named = _new_blobs(rows)
    except BrokenCheckpoint:
        named = {}
    shown = rows[:most]
    sizes = _sizes(checkpoint.run_id, [one for row in shown for one in named.get(row.pk, ())])
    found = [Step(row, vars(row)["stored"], _sum(named.get(row.pk), sizes)) for row in shown]
    return found[::-1]


def _walk(checkpoint: Checkpoint, most: int) -> list[Checkpoint]:
    """The newest first, one more than wanted and then the rest of its segment: what these name is not new later."""
    rows = Checkpoint.objects.select_related("branch").defer("content").annotate(stored=Length("content"))
    found: list[Checkpoint] = []
    here: Checkpoint | None = checkpoint
    while here is not None and len(found) <= most:
        of_branch = rows.filter(branch_id=here.branch_id).order_by("-number")
        found += of_branch.filter(number__lte=here.number)[: most + 1 - len(found)]
        oldest = found[-1]
        here = rows.filter(pk=oldest.parent_id).first() if oldest.parent_id else None
    return [*found, *of_branch.filter(number__lt=oldest.number, number__gte=oldest.base)]


def _new_blobs(rows: Sequence[Checkpoint]) -> dict[uuid.UUID, set[str]]:
    """The hashes that each row is the first to name; empty when it would be too much to read."""
    if sum(row.raw_length for row in rows if row.number == row.base) > MOST_MANIFEST_BYTES:
        return {}
    found: dict[uuid.UUID, set[str]] = {}
    known: set[str] = set()
    for _, group in groupby(reversed(rows), key=lambda row: (row.branch_id, row.base)):
        segment = {row.number: row for row in group}
        newest = max(segment)
        for number, text in enumerate(rows_of(segment[newest])[0], segment[newest].base):
            hashes = {hash_ for op in read_row(text) for hash_ in _hashes(op)}
            if number in segment:
                found[segment[number].pk] = hashes - known
            known |= hashes
    return found


def _hashes(op: Op) -> Iterator[str]:
    if isinstance(op, Refer):
        yield op.hash
    elif isinstance(op, Splice):
        yield from (part.hash for part in op.parts if isinstance(part, Stored))


def _sizes(run_id: uuid.UUID, hashes: Sequence[str]) -> dict[str, int]:
    """Bytes of blobs as they are stored, by hash; missing ones are left out."""
    found: dict[str, int] = {}
    for at in range(0, len(hashes), _AT_ONCE):
        some = [bytes.fromhex(hash_) for hash_ in hashes[at : at + _AT_ONCE]]
        rows: QuerySet[Blob] = Blob.objects.filter(run_id=run_id, hash__in=some)
        found |= {bytes(hash_).hex(): size for hash_, size in rows.values_list("hash", BLOB_BYTES)}
    return found


def _sum(hashes: set[str] | None, sizes: dict[str, int]) -> int | None:
    return None if hashes is None else sum(sizes.get(hash_, 0) for hash_ in hashes)
