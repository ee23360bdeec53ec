"""Saves a checkpoint: one immutable row; the same statement moves its branch, if that is where the writer thinks."""

from __future__ import annotations

import uuid
from functools import partial

from django.db import connection, transaction
from django.utils import timezone

from reviewhub.checkpoints.draft import Draft, head_tip
from reviewhub.checkpoints.mend import mend
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.pin_children import pin_children
from reviewhub.checkpoints.place import Placed, place
from reviewhub.checkpoints.recall import keep
from reviewhub.checkpoints.statements import NAMES, write_checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict
from reviewhub.core.ids import uuid7
from reviewhub.runs.fence import StaleEpoch
from reviewhub.runs.models import Branch


class StaleHead(Conflict):
    """The branch has another head by now; what was sent was made from an older one."""

    code = "stale_head"


def save(*, branch: Branch, draft: Draft, actor: Actor) -> Checkpoint:
    """Writes what `draft` prepared, in the caller's transaction. Saving is no audit event: the row is its own record.

    Args:
        branch: locked by the caller; its `head` is that of the new checkpoint afterwards.
        actor: who wrote the state, kept with its name as it is now.

    Returns:
        The new checkpoint, or for a draft that named one: that one.

    Raises:
        StaleHead: the parent is not the head; `extra` has `head` {id, hash} (None when there is none yet).
        StaleEpoch: the branch has changed hands since the caller looked.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a checkpoint is saved in the transaction of what it belongs to")
    if draft.existing is not None:
        if branch.head != draft.existing.id:
            raise _stale(branch)
        return draft.existing
    parent = branch.head if draft.on_head else draft.parent
    if parent != branch.head:
        raise _stale(branch)
    placed = _placed(branch, draft)
    return insert(branch=branch, draft=draft, placed=placed, actor=actor, parent=parent, head=parent)


def insert(
    *,
    branch: Branch,
    draft: Draft,
    placed: Placed,
    actor: Actor,
    parent: uuid.UUID | None,
    head: uuid.UUID | None = None,
) -> Checkpoint:
    """Moves the head from `head` to a new row with that parent; a fork's first parent is no head of its branch.

    Raises:
        StaleHead: the head is another.
        StaleEpoch: the branch has changed hands.
    """
    schema, state = draft.typed.schema, placed.state
    values = {
        "id": uuid7(),
        "workspace_id": branch.workspace_id,
        "run_id": branch.run_id,
        "branch_id": branch.pk,
        "parent_id": parent,
        "number": placed.number,
        "base": placed.base,
        "node": draft.node,
        "step": draft.step,
        "plan": draft.plan,
        "state_hash": state.state_hash,
        "raw_length": state.size,
        "content": placed.content,
        "reason": draft.reason,
        "author_kind": actor.kind,
        "author_name": actor.name[:200],
        "created_at": timezone.now(),
        "state_schema_id": None if schema is None else schema.pk,
        "misfits": draft.typed.misfits,
    }
    odd = write_checkpoint(values, epoch=branch.epoch, head=head, blobs=placed.blobs)
    if odd is None:
        raise _lost(branch)
    if odd:
        mend(branch.run_id, blobs=placed.blobs, odd=odd)
    # As a row that was read: Django's own way to make one from names costs as much as the statement.
    checkpoint = Checkpoint.from_db(connection.alias, NAMES, [values[name] for name in NAMES])
    checkpoint.branch = branch
    if schema is not None:
        checkpoint.state_schema = schema
    branch.head = checkpoint.id
    pin_children(branch=branch, checkpoint_id=checkpoint.id)
    tip = placed.tip(id_=checkpoint.id, run_id=branch.run_id)
    transaction.on_commit(partial(keep, tip, instead_of=head), robust=True)
    return checkpoint


def _placed(branch: Branch, draft: Draft) -> Placed:
    """The draft's row, or another one when the head is not the one that the draft was made on."""
    if draft.placed is not None and draft.placed.upon == branch.head:
        return draft.placed
    return place(draft.state, on=head_tip(branch))


def _lost(branch: Branch) -> Conflict:
    epoch = branch.epoch
    branch.refresh_from_db(fields=["head", "epoch"])
    return (
        _stale(branch)
        if branch.epoch == epoch
        else StaleEpoch(f"The branch is in another epoch; {epoch} is over.")
    )


def _stale(branch: Branch) -> StaleHead:
    if branch.head is None:
        return StaleHead(head=None)
    known = Checkpoint.objects.values_list("state_hash", flat=True).get(pk=branch.head)
    return StaleHead(head={"id": str(branch.head), "hash": known})
