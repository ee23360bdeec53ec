"""A worker takes a waking, and with it the branch."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from reviewhub.core.clock import DbNow, now
from reviewhub.core.rows import one_or_none
from reviewhub.core.transitions import move
from reviewhub.resumptions.failed import GONE, keep_failure
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import RESUMPTION_EDGES, ResumptionState
from reviewhub.runs import lease
from reviewhub.runs.fence import RunEnded, Superseded
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BranchState


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """A waking that this process holds, and its branch in the epoch that every write must name.

    Run and agent of the branch are loaded. `at` is when it was taken, by the database's clock.
    """

    resumption: Resumption
    branch: Branch
    at: datetime


@transaction.atomic(savepoint=False)
def claim(*, resumption_id: uuid.UUID, owner: str, seconds: int) -> Claimed | None:
    """Takes a hosted waking that is due, or whose holder's lease ran out; the branch gets a new epoch.

    Args:
        owner: the worker's name, for people.
        seconds: how long waking and branch are held without `renew`.

    Returns:
        None when there is nothing to take: somebody else holds it or was quicker, it is over, halted, or not due.
        A waking of a branch that ended or waits for people again is abandoned on the way.
    """
    branches = Branch.objects.select_related("run__agent").select_for_update(of=("self",), no_key=True)
    branch = one_or_none(branches.filter(resumptions=resumption_id, resumptions__kind="hosted"))
    if branch is None:
        return None
    # Locked too: its holder, whose lease may have run out meanwhile, ends it without a lock of the branch. What the
    # clock says with it is later than that lock; were it to wait for the row, the lease would be so much shorter.
    row = Resumption.objects.select_for_update(no_key=True).annotate(read_at=DbNow()).get(pk=resumption_id)
    at: datetime = row.read_at  # type: ignore[attr-defined]  # annotated
    if branch.is_halted or row.state not in {ResumptionState.QUEUED, ResumptionState.CLAIMED}:
        return None
    if branch.state == BranchState.PAUSED:
        _abandon(row)
        return None
    if not _may_be_taken(row, at):
        return None
    try:
        lease.take(branch=branch, owner=owner, seconds=seconds, at=at)
    except lease.BranchHeld:
        return None
    except (Superseded, RunEnded):
        _abandon(row)
        return None
    _take(row, branch, owner=owner, seconds=seconds, at=at)
    return Claimed(resumption=row, branch=branch, at=at)


def _may_be_taken(row: Resumption, at: datetime) -> bool:
    """Whether a locked waking is due, or its holder's lease is over."""
    if row.state == ResumptionState.CLAIMED:
        return row.lease_until is not None and row.lease_until <= at
    return row.due_at <= at


def _take(row: Resumption, branch: Branch, *, owner: str, seconds: int, at: datetime) -> None:
    if row.state == ResumptionState.CLAIMED:
        move(row, to=ResumptionState.QUEUED, table=RESUMPTION_EDGES)
        keep_failure(resumption=row, place=str(branch.head or ""), error=GONE)
    move(
        row,
        to=ResumptionState.CLAIMED,
        table=RESUMPTION_EDGES,
        attempts=row.attempts + 1,
        taken_at=row.taken_at or at,
        lease_owner=owner[: lease.MAX_OWNER],
        lease_until=at + timedelta(seconds=seconds),
    )


def _abandon(row: Resumption) -> None:
    move(row, to=ResumptionState.ABANDONED, table=RESUMPTION_EDGES, ended_at=now(), lease_until=None)
