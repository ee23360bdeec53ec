"""A child run has ended: its parent learns how, and is woken when it waited for nothing else."""

from __future__ import annotations

import uuid

from reviewhub.core import faults
from reviewhub.core.clock import now
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.nudge import nudge_after_commit
from reviewhub.resumptions.states import ResumptionState
from reviewhub.runs.models import Branch, Child
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import lock

_OUTCOMES = {
    BranchState.SUCCEEDED: Child.Outcome.DONE,
    BranchState.FAILED: Child.Outcome.FAILED,
    BranchState.CANCELLED: Child.Outcome.CANCELLED,
}


def child_ended(*, branch: Branch, to: str, said: str) -> None:
    """Tells those who started this branch as a child, in the transaction that ends it and holds its lock.

    A branch that a rewrite superseded goes on as another one, and so does the child.

    Args:
        to: the state in which it ended.
        said: its result as JSON text when it succeeded, else why it ended.
    """
    going = lock(Child.objects.filter(branch=branch, outcome="").order_by("pk"))
    for child in going:
        if to == BranchState.SUPERSEDED:
            Child.objects.filter(pk=child.pk).update(branch_id=branch.superseded_by_id)
            continue
        outcome = _OUTCOMES[BranchState(to)]
        is_done = outcome == Child.Outcome.DONE
        Child.objects.filter(pk=child.pk).update(
            outcome=outcome,
            result=said if is_done else "null",
            error="" if is_done else said,
            ended_at=now(),
        )
        _wake(child.parent_branch_id)
        faults.point("child_ended.before_commit")


def _wake(parent_branch_id: uuid.UUID) -> None:
    """Makes the waking due that waits for the last child.

    Its row is locked before it is looked which children go on: of two that end at the same moment the second sees the
    first. The parent's branch is not locked, for that comes before its children.
    """
    waits = Resumption.objects.filter(
        branch_id=parent_branch_id, state=ResumptionState.QUEUED, for_children=True
    )
    waking = lock(waits).first()
    if waking is None:
        return
    if Child.objects.filter(parent_branch_id=parent_branch_id, is_awaited=True, outcome="").exists():
        return
    Resumption.objects.filter(pk=waking.pk).update(due_at=now())
    if waking.kind == "hosted":
        nudge_after_commit(waking)
