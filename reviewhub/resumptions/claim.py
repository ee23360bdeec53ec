"""A worker takes a waking, and with it the branch."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from reviewhub.core.clock import DbNow, now
from reviewhub.core.errors import StaleState
from reviewhub.core.rows import one_or_none
from reviewhub.core.transitions import move
from reviewhub.resumptions.failed import GONE, keep_failure
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import RESUMPTION_EDGES, ResumptionState
from reviewhub.runs import lease
from reviewhub.runs.fence import RunEnded, Superseded
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.queries import locked_branch
from reviewhub.runs.states import BRANCH_EDGES, BranchState


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """A waking that this process holds, and its branch in the epoch that every write must name.

    Run and agent of the branch are loaded.
    """

    resumption: Resumption
    branch: Branch


@transaction.atomic
def claim(*, resumption_id: uuid.UUID, owner: str, seconds: int) -> Claimed | None:
    """Takes a hosted waking that is due, or whose holder's lease ran out; the branch gets a new epoch.

    Args:
        owner: the worker's name, for people.
        seconds: how long waking and branch are held without `renew`.

    Returns:
        None when there is nothing to take: somebody else holds it or was quicker, it is over, halted, or not due.
        A waking of a branch that ended or waits for people again is abandoned on the way.
    """
    wakings = Resumption.objects.filter(pk=resumption_id, kind="hosted")
    branch_id = one_or_none(wakings.values_list("branch_id", flat=True))
    if branch_id is None:
        return None
    branch = locked_branch(branch_id)
    # Locked too: its holder, whose lease may have run out meanwhile, ends it without a lock of the branch.
    row = wakings.select_for_update(no_key=True).get()
    if branch.is_halted or row.state not in {ResumptionState.QUEUED, ResumptionState.CLAIMED}:
        return None
    if branch.state == BranchState.PAUSED:
        _abandon(row)
        return None
    try:
        branch = lease.claim(branch_id=branch.pk, owner=owner, seconds=seconds)
    except lease.BranchHeld:
        return None
    except (Superseded, RunEnded):
        _abandon(row)
        return None
    if not _take(row, branch, owner=owner, seconds=seconds):
        transaction.set_rollback(True)
        return None
    if branch.state == BranchState.RESUMING:
        move(branch, to=BranchState.RUNNING, table=BRANCH_EDGES)
    branch.run = Run.objects.select_related("agent").get(pk=branch.run_id)
    return Claimed(resumption=row, branch=branch)


def _take(row: Resumption, branch: Branch, *, owner: str, seconds: int) -> bool:
    """`row` is locked: what was read of it is what is stored."""
    where = {"due_at__lte": DbNow()}
    at = now()
    try:
        if row.state == ResumptionState.CLAIMED:
            move(row, to=ResumptionState.QUEUED, table=RESUMPTION_EDGES, where={"lease_until__lte": DbNow()})
            where = {}
            keep_failure(resumption=row, place=str(branch.head or ""), error=GONE)
        move(
            row,
            to=ResumptionState.CLAIMED,
            table=RESUMPTION_EDGES,
            where=where,
            attempts=row.attempts + 1,
            taken_at=row.taken_at or at,
            lease_owner=owner[: lease.MAX_OWNER],
            lease_until=at + timedelta(seconds=seconds),
        )
    except StaleState:
        return False
    return True


def _abandon(row: Resumption) -> None:
    move(row, to=ResumptionState.ABANDONED, table=RESUMPTION_EDGES, ended_at=now(), lease_until=None)
