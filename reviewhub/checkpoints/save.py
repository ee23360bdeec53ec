"""Saves a checkpoint: one immutable row, and the head of its branch moved with one conditional UPDATE."""

from __future__ import annotations

import uuid

from django.db import transaction
from django.db.models import Max

from reviewhub.checkpoints.draft import Draft
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict
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
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a checkpoint is saved in the transaction of what it belongs to")
    if draft.existing is not None:
        if branch.head != draft.existing.id:
            raise _stale(branch)
        return draft.existing
    parent = branch.head if draft.on_head else draft.parent
    return insert(branch=branch, draft=draft, parent=parent, actor=actor, head=parent)


def insert(
    *, branch: Branch, draft: Draft, parent: uuid.UUID | None, actor: Actor, head: uuid.UUID | None = None
) -> Checkpoint:
    """Moves the head from `head` to a new row with that parent; a fork's first parent is no head of its branch.

    Raises:
        StaleHead: the head is another.
    """
    checkpoint = Checkpoint(
        workspace_id=branch.workspace_id,
        run_id=branch.run_id,
        branch=branch,
        parent_id=parent,
        number=_next_number(branch),
        node=draft.node,
        step=draft.step,
        plan=draft.plan,
        state_hash=draft.state_hash,
        raw_length=draft.raw_length,
        body=draft.body,
        reason=draft.reason,
        author_kind=actor.kind,
        author_name=actor.name[:200],
    )
    _move_head(branch, head, checkpoint.id)
    checkpoint.save(force_insert=True)
    return checkpoint


def _move_head(branch: Branch, old: uuid.UUID | None, new: uuid.UUID) -> None:
    """The one place where a head changes. The condition makes two saves on one parent impossible even for a caller that
    forgot to lock."""
    unmoved = Branch.objects.filter(pk=branch.pk)
    unmoved = unmoved.filter(head__isnull=True) if old is None else unmoved.filter(head=old)
    if unmoved.update(head=new) != 1:
        branch.refresh_from_db(fields=["head"])
        raise _stale(branch)
    branch.head = new


def _next_number(branch: Branch) -> int:
    newest = Checkpoint.objects.filter(branch=branch).aggregate(newest=Max("number"))["newest"]
    return (newest or 0) + 1


def _stale(branch: Branch) -> StaleHead:
    if branch.head is None:
        return StaleHead(head=None)
    known = Checkpoint.objects.values_list("state_hash", flat=True).get(pk=branch.head)
    return StaleHead(head={"id": str(branch.head), "hash": known})
