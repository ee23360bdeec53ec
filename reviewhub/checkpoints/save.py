"""Saves a checkpoint: one immutable row; the same statement moves its branch, if that is where the writer thinks."""

from __future__ import annotations

import uuid
from functools import partial

from django.db import transaction

from reviewhub.checkpoints.draft import Draft, head_tip
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.place import Placed, place
from reviewhub.checkpoints.recall import keep
from reviewhub.checkpoints.statements import write_checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict
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
    if not transaction.get_connection().in_atomic_block:
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
    checkpoint = Checkpoint(
        workspace_id=branch.workspace_id,
        run_id=branch.run_id,
        branch=branch,
        parent_id=parent,
        number=placed.number,
        base=placed.base,
        node=draft.node,
        step=draft.step,
        plan=draft.plan,
        state_hash=placed.state.state_hash,
        raw_length=placed.state.size,
        content=placed.content,
        reason=draft.reason,
        author_kind=actor.kind,
        author_name=actor.name[:200],
        state_schema=draft.typed.schema,
        misfits=draft.typed.misfits,
    )
    if not write_checkpoint(checkpoint, branch=branch, head=head, blobs=placed.blobs):
        raise _lost(branch)
    checkpoint._state.adding = False
    branch.head = checkpoint.id
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
