"""Takes checkpoints and blobs of a run away, and leaves for each checkpoint its id, its place and its hash.

The only way past the guards: see `Removal`. What may go is the caller's question, and that what stays can be read
afterwards (`retention.rules`).
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.blobs.leave import leave
from reviewhub.checkpoints.models import Checkpoint, ChildHead, Removal, RemovalEnd, Tombstone
from reviewhub.core import clock
from reviewhub.core.ids import uuid7
from reviewhub.plans.remove import remove as remove_plans
from reviewhub.runs.models import Run

_AT_ONCE = 500
DATABASE = "database"
"""The tier of what lies in the database; the others are called as their blob stores are."""


@dataclass(frozen=True, kw_only=True)
class Doomed:
    """A checkpoint that is to go. `size` is the bytes of its content."""

    id: uuid.UUID
    branch_id: uuid.UUID
    branch: str
    number: int
    state_hash: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Why:
    """What a removal says about itself; `rule` is canonical JSON text of the limits, or empty."""

    kind: Removal.Kind
    reason: str
    by_name: str
    rule: str = ""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What goes in one transaction. `blobs`: hash → bytes as they are kept, by tier: where they lie."""

    checkpoints: Sequence[Doomed] = ()
    blobs: dict[bytes, dict[str, int]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of contents and blobs; what rows and indexes weigh besides is left out."""
        return sum(self.sizes.values())

    @property
    def sizes(self) -> dict[str, int]:
        """The same by tier: the database, or the name of a blob store."""
        found = Counter({DATABASE: sum(row.size for row in self.checkpoints)})
        for sizes in self.blobs.values():
            found.update(sizes)
        return dict(+found)

    @property
    def digest(self) -> str:
        """`sha256:` over one line for each: `checkpoint <id> <number> <state hash>`, then `blob <hash>`, sorted."""
        lines = [f"checkpoint {row.id} {row.number} {row.state_hash}" for row in self.checkpoints]
        lines += [f"blob {hash_.hex()}" for hash_ in self.blobs]
        return "sha256:" + sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()


def remove(*, run: Run, load: Load, why: Why, meanwhile: Callable[[], object] | None = None) -> Removal:
    """Removes what `load` names, in the caller's transaction, which holds the run's branches.

    With the last checkpoint that retention takes, the run's plans go too.

    Args:
        meanwhile: what else needs an open removal to pass the guards: an erasure empties texts of guarded tables.

    Raises:
        IntegrityError: something is not as `load` says, or the run is under hold: the database refuses.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("checkpoints are removed only inside the transaction that records it")
    removal = Removal.objects.create(
        workspace_id=run.workspace_id,
        run=run,
        kind=why.kind,
        rule=why.rule,
        reason=why.reason,
        by_name=why.by_name[:200],
        created_at=clock.now(),
        end_id=uuid7(),
    )
    Tombstone.objects.bulk_create(
        Tombstone(
            id=row.id, branch_id=row.branch_id, number=row.number, state_hash=row.state_hash, removal=removal
        )
        for row in load.checkpoints
    )
    gone = [row.id for row in load.checkpoints]
    # What they pin, and what pins them: of a deleted child run a fork of its parent takes how it ended.
    ChildHead.objects.filter(Q(checkpoint__in=gone) | Q(head__in=gone)).delete()
    _delete("DELETE FROM checkpoints_checkpoint WHERE id IN ({})", gone)
    # What they have in a blob store is listed before, and removed there by a sweep.
    leave(run_id=run.pk, hashes=load.blobs)
    _delete(
        "DELETE FROM checkpoints_blob WHERE run_id = {run} AND hash IN ({})", list(load.blobs), run_id=run.pk
    )
    if meanwhile is not None:
        meanwhile()
    if (
        why.kind is Removal.Kind.RETENTION
        and load.checkpoints
        and not Checkpoint.objects.filter(run=run).exists()
    ):
        # Of a run without any state nobody needs to know what its agent intended. An erasure leaves the empty versions.
        remove_plans(run_id=run.pk)
    removal.end = RemovalEnd.objects.create(
        id=removal.end_id,
        checkpoints=len(load.checkpoints),
        blobs=len(load.blobs),
        bytes=load.size,
        digest=load.digest,
    )
    transaction.on_commit(partial(recall.forget, [row.id for row in load.checkpoints]), robust=True)
    return removal


def _delete(statement: str, keys: Sequence[uuid.UUID | bytes], *, run_id: uuid.UUID | None = None) -> None:
    """By hand: Django would look for rows that refer to these, and some rightly still do.

    Raises:
        IntegrityError: not as many went as there are keys, so the account would not say what happened.
    """
    gone = 0
    with connection.cursor() as cursor:
        for some in _slices([_stored(key) for key in keys]):
            marks = ", ".join(["%s"] * len(some))
            given = [] if run_id is None else [_stored(run_id)]
            cursor.execute(statement.format(marks, run="%s"), [*given, *some])
            gone += cursor.rowcount
    if gone != len(keys):
        raise IntegrityError(f"{len(keys)} rows are to be removed, and {gone} were there")


def _slices(keys: list[uuid.UUID | bytes | str]) -> Iterator[list[uuid.UUID | bytes | str]]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]


def _stored(key: uuid.UUID | bytes) -> uuid.UUID | bytes | str:
    return key.hex if isinstance(key, uuid.UUID) and connection.vendor == "sqlite" else key
