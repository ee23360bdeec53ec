"""A fork of a run takes its child runs along, each from where the checkpoint pinned it."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub_agents.runtime.replay import step_of

from reviewhub.checkpoints.fork import fork as fork_checkpoint
from reviewhub.checkpoints.fork import free_branch
from reviewhub.checkpoints.models import Checkpoint, ChildHead
from reviewhub.checkpoints.pin_children import pin_children
from reviewhub.core.actors import Actor
from reviewhub.gates.wake import wake
from reviewhub.runs.derive import derive
from reviewhub.runs.models import Branch, Child
from reviewhub.toolcalls.locks import lock_branch

WHY = "The run that started it was forked."


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a checkpoint knows of a child: it was over by then, or went on from `head` (None: it had just begun)."""

    is_over: bool = False
    head: Checkpoint | None = None


NOTHING = Known()
"""Of a child that was started after the checkpoint: on the fork it begins anew."""


def known_at(checkpoint: Checkpoint, child: Child) -> Known:
    """What a checkpoint of the child's parent knows of it."""
    if child.born_after >= checkpoint.number:
        return NOTHING
    pin = ChildHead.objects.filter(checkpoint=checkpoint, child=child).select_related("head__branch").first()
    return Known(is_over=True) if pin is None else Known(head=pin.head)


def fork_children(*, checkpoint: Checkpoint, to: Branch, actor: Actor) -> None:
    """Gives the new branch `to` the children that its checkpoint knows of, in the transaction that made the branch.

    One that was over stays as it ended. One that went on goes on from its pinned head, on a branch of its own, and
    its children likewise. One that was started in the step that the new branch does again is taken up when that step
    asks for it (`start_child`), and not before: it may ask for something else.

    Raises:
        CheckpointRemoved: an erasure took what a child would go on from.
    """
    started = Child.objects.filter(parent_branch=checkpoint.branch_id, born_after__lt=checkpoint.number)
    ready = [one for one in started.order_by("pk") if step_of(one.key) < checkpoint.step]
    for child in ready:
        inherit(child=child, by=to, born_after=0, pin=known_at(checkpoint, child), actor=actor)
    if ready:
        Branch.objects.filter(pk=to.pk).update(has_children=True)
        to.has_children = True
        assert to.head is not None, "a fork begins with a checkpoint"
        pin_children(branch=to, checkpoint_id=to.head)


def inherit(*, child: Child, by: Branch, born_after: int, pin: Known, actor: Actor) -> Child:
    """The child of another branch as one of branch `by`, under the same key."""
    link = Child(
        workspace_id=child.workspace_id,
        parent_branch=by,
        key=child.key,
        graph=child.graph,
        digest=child.digest,
        branch_id=child.branch_id,
        born_after=born_after,
    )
    if pin.is_over:
        link.outcome, link.result, link.error = child.outcome, child.result, child.error
        link.ended_at = child.ended_at
    else:
        link.branch = _again(child, pin.head, actor)
    link.save(force_insert=True)
    return link


def _again(child: Child, head: Checkpoint | None, actor: Actor) -> Branch:
    """A new branch of the child's run, that goes on from `head` or begins anew, with its own children."""
    # While its branch is locked nothing of the run is removed; see `checkpoints.fork`.
    old = lock_branch(child.branch_id)
    if head is None:
        branch = free_branch(run=old.run, stem="again")
    else:
        branch, _ = fork_checkpoint(checkpoint=head, name=None, changes=[], reason=WHY, actor=actor)
        fork_children(checkpoint=head, to=branch, actor=actor)
    wake(branch=branch, agent=old.run.agent)
    derive(old.run_id)
    return branch
