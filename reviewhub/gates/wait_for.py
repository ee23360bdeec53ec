"""A branch waits for child runs: a row says what wakes it, and nobody holds it meanwhile."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core import clock, faults
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.gates.errors import BranchPaused, NoSuchChild
from reviewhub.gates.kinds import BranchAwaiting
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.resumptions.complete import complete
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.queries import written_by
from reviewhub.runs.derive import derive
from reviewhub.runs.fence import check
from reviewhub.runs.models import Branch, Child
from reviewhub.runs.states import BRANCH_EDGES, BranchState
from reviewhub.toolcalls.locks import lock, lock_branch

LOOKS_ITSELF: Final = timedelta(hours=1)
"""Whoever ends the last child wakes the branch. It looks itself, too, so that no fault there could lose it for ever."""


def wait_for(
    *,
    branch_id: uuid.UUID,
    keys: Sequence[str] | None,
    epoch: int | None,
    kind: str,
    actor: Actor,
    waking: Resumption | None = None,
) -> list[Child] | None:
    """The children of a branch once all of them have ended; else the branch is given up until then.

    Args:
        keys: those that are meant, in the order of the answer; None for all of the branch.
        epoch: the holder's; None for an agent that claimed nothing.
        kind: how it is woken, `hosted` or `poll`.
        waking: the one that the caller has claimed; done with this.

    Returns:
        None when one of them goes on: the branch is `resuming`, and a new epoch has begun. Whoever asks again because
        that answer was lost gets the same one.

    Raises:
        NoSuchChild: the branch started none under one of the keys.
        BranchPaused, Superseded, StaleEpoch, RunEnded: this caller may not write for the branch now.
        NotAnyMore, AgentStopped: the caller may not write any more.
    """
    with transaction.atomic():
        branch = lock_branch(branch_id)
        if _waits_already(branch, epoch, keys):
            return None
        check(branch, epoch)
        run = branch.run
        still_may(actor, Action.RUN_WRITE, Target(workspace_id=run.workspace_id, agent_id=run.agent_id))
        if branch.state == BranchState.PAUSED:
            raise BranchPaused
        acknowledge(branch=branch)
        children = _children(branch, keys)
        going = [child.pk for child in children if not child.outcome]
        if not going:
            return children
        Child.objects.filter(parent_branch=branch, is_awaited=True).update(is_awaited=False)
        Child.objects.filter(pk__in=going).update(is_awaited=True)
        _give_up(branch, kind=kind, waking=waking)
        record(
            "branch.awaiting",
            workspace_id=run.workspace_id,
            actor=actor,
            run_id=run.pk,
            agent_id=run.agent_id,
            subject_id=branch.pk,
            data=BranchAwaiting(branch=branch.name, children=len(going)),
        )
        derive(run.pk)
        faults.point("wait_for.before_commit")
    faults.point("wait_for.after_commit")
    return None


def _waits_already(branch: Branch, epoch: int | None, keys: Sequence[str] | None) -> bool:
    waking = written_by(branch, epoch)
    if waking is None or not waking.for_children:
        return False
    awaited = Child.objects.filter(parent_branch=branch, is_awaited=True).values_list("key", flat=True)
    return keys is None or set(awaited) <= set(keys)


def _children(branch: Branch, keys: Sequence[str] | None) -> list[Child]:
    """Locked, so that none ends unseen between this look and the row that its end would wake."""
    rows = Child.objects.filter(parent_branch=branch)
    if keys is None:
        return list(lock(rows.order_by("pk")))
    found = {child.key: child for child in lock(rows.filter(key__in=keys).order_by("pk"))}
    for key in keys:
        if key not in found:
            raise NoSuchChild(f"This branch has started no child under {key!r}.")
    return [found[key] for key in keys]


def _give_up(branch: Branch, *, kind: str, waking: Resumption | None) -> None:
    move(
        branch,
        to=BranchState.PAUSED,
        table=BRANCH_EDGES,
        epoch=branch.epoch + 1,
        lease_owner="",
        lease_until=None,
    )
    if waking is not None:
        complete(resumption=waking)
    enqueue(branch=branch, pause=None, kind=kind, due_at=clock.now() + LOOKS_ITSELF, for_children=True)
