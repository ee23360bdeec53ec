"""A holder gives a waking back: its attempt did not work out, or it was asked to stop."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.resumptions.failed import keep_failure
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.nudge import nudge_after_commit
from reviewhub.resumptions.states import RESUMPTION_EDGES, ResumptionState
from reviewhub.runs import lease
from reviewhub.runs.models import Branch


@transaction.atomic
def put_back(*, resumption: Resumption, branch: Branch, place: str, error: str, seconds: float) -> None:
    """Gives branch and waking back after a failure; the waking is due again in `seconds`.

    Args:
        resumption, branch: as `claim` gave them.
        place: how far the branch has come; a failure at the same place is one without progress.
        error: what went wrong; kept with those of earlier attempts.

    Raises:
        StaleEpoch, StaleState: they are not this holder's any more.
    """
    again_at = now() + timedelta(seconds=seconds)
    _let_go(resumption, branch, again_at)
    keep_failure(resumption=resumption, place=place, error=error, again_at=again_at)


@transaction.atomic
def give_back(*, resumption: Resumption, branch: Branch, seconds: float = 0) -> None:
    """The same where nothing failed: the worker stops, the run is halted, or somebody else has to finish first.

    Args:
        seconds: until it may be taken again; due at once, another worker is told after commit.

    Raises:
        StaleEpoch, StaleState: they are not this holder's any more.
    """
    _let_go(resumption, branch, now() + timedelta(seconds=seconds))
    if not seconds:
        nudge_after_commit(resumption)


def _let_go(resumption: Resumption, branch: Branch, due_at: datetime) -> None:
    lease.release(branch_id=branch.pk, epoch=branch.epoch)
    owner = resumption.lease_owner
    move(
        resumption,
        to=ResumptionState.QUEUED,
        table=RESUMPTION_EDGES,
        where={"attempts": resumption.attempts},
        due_at=due_at,
        lease_owner="",
        lease_until=None,
    )
    resumption.lease_owner = owner
