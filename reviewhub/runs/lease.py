"""The lease of a branch: who may write for it, for how long, and the epoch that tells a late writer from the holder.

Lease times are made from, and compared with, the database's clock inside the UPDATE itself, so two claimers never
both win, whatever their own clocks say.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from reviewhub_agents.wire.fields import time_text

from reviewhub.core import clock
from reviewhub.core.clock import DbNow
from reviewhub.core.errors import Conflict, NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.core.transitions import move
from reviewhub.runs import fence
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BRANCH_EDGES, OPEN_BRANCH, BranchState

MAX_OWNER = 120


class BranchHeld(Conflict):
    """Another process holds this branch; its lease has not run out."""

    code = "branch_held"


@transaction.atomic
def claim(*, branch_id: uuid.UUID, owner: str, seconds: int) -> Branch:
    """Takes the lease of an open branch that nobody holds, and begins a new epoch.

    Args:
        owner: who takes it, in words for people (a worker's name); it proves nothing, the epoch does.
        seconds: how long the lease lasts without `renew`.

    Returns:
        The branch with its new `epoch` and `lease_until`; every later write of the claimer names that epoch.

    Raises:
        NotFound: there is no such branch.
        BranchHeld: the lease of another holder has not run out (`extra`: owner, lease_until).
        fence.Superseded, fence.RunEnded: the branch takes no writes any more.
    """
    free = Q(lease_until__isnull=True) | Q(lease_until__lte=DbNow())
    now = clock.now()
    taken = Branch.objects.filter(free, pk=branch_id, state__in=OPEN_BRANCH).update(
        epoch=F("epoch") + 1,
        lease_owner=owner[:MAX_OWNER],
        lease_until=now + timedelta(seconds=seconds),
        heartbeat_at=now,
    )
    branch = one_or_none(Branch.objects.filter(pk=branch_id))
    if branch is None:
        raise NotFound()
    if taken != 1:
        fence.check_open(branch)
        until = time_text(branch.lease_until) if branch.lease_until else None
        raise BranchHeld(owner=branch.lease_owner, lease_until=until)
    return branch


def take(*, branch: Branch, owner: str, seconds: int, at: datetime) -> None:
    """The same for a branch that the caller's transaction has locked, in one statement; what resumes runs from now on.

    Args:
        branch: as it is stored; it knows the new epoch and lease afterwards.
        at: by the database's clock, read since the branch was locked.

    Raises:
        BranchHeld, fence.Superseded, fence.RunEnded: as `claim`.
    """
    fence.check_open(branch)
    if branch.lease_until is not None and branch.lease_until > at:
        raise BranchHeld(owner=branch.lease_owner, lease_until=time_text(branch.lease_until))
    fields: dict[str, Any] = {
        "epoch": branch.epoch + 1,
        "lease_owner": owner[:MAX_OWNER],
        "lease_until": at + timedelta(seconds=seconds),
        "heartbeat_at": at,
    }
    if branch.state == BranchState.RESUMING:
        move(branch, to=BranchState.RUNNING, table=BRANCH_EDGES, **fields)
        return
    Branch.objects.filter(pk=branch.pk).update(**fields)
    for name, value in fields.items():
        setattr(branch, name, value)


def renew(*, branch_id: uuid.UUID, epoch: int, seconds: int) -> datetime:
    """Prolongs the holder's lease, also one that ran out meanwhile, as long as nobody else took the branch.

    Args:
        epoch: as `claim` gave it.
        seconds: how long the lease lasts from now on.

    Returns:
        When the lease runs out now.

    Raises:
        fence.StaleEpoch: somebody else holds the branch, or the lease was released.
    """
    now = clock.now()
    until = now + timedelta(seconds=seconds)
    held = Branch.objects.filter(pk=branch_id, epoch=epoch, lease_until__isnull=False)
    if held.update(lease_until=until, heartbeat_at=now) != 1:
        raise fence.StaleEpoch()
    return until


def release(*, branch_id: uuid.UUID, epoch: int) -> int:
    """Gives the branch back and ends the epoch, so that nothing the holder still sends is taken.

    Args:
        epoch: the current one; also for a branch that nobody leased.

    Returns:
        The new epoch.

    Raises:
        fence.StaleEpoch: the epoch is not that any more.
    """
    held = Branch.objects.filter(pk=branch_id, epoch=epoch)
    if held.update(epoch=F("epoch") + 1, lease_owner="", lease_until=None) != 1:
        raise fence.StaleEpoch()
    return epoch + 1
