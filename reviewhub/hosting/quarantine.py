"""A branch that fails whatever is tried is set aside with its error, so that others go on."""

from __future__ import annotations

from django.db import transaction

from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM
from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.hosting.kinds import RunQuarantined
from reviewhub.resumptions.claim import Claimed
from reviewhub.resumptions.give_up import give_up
from reviewhub.runs.derive import derive
from reviewhub.runs.fence import check
from reviewhub.runs.models import Run
from reviewhub.runs.queries import locked_branch
from reviewhub.runs.states import BRANCH_EDGES, BranchState


@transaction.atomic
def quarantine(*, claimed: Claimed, error: str) -> None:
    """Ends the waking as failed and the branch as quarantined. Its calls and grants stay as they are for `retry`.

    Raises:
        StaleEpoch, RunEnded, Superseded, StaleState: branch or waking are not this holder's any more.
    """
    branch = locked_branch(claimed.branch.pk)
    check(branch, claimed.branch.epoch)
    give_up(resumption=claimed.resumption, error=error)
    move(
        branch,
        to=BranchState.QUARANTINED,
        table=BRANCH_EDGES,
        epoch=branch.epoch + 1,
        lease_owner="",
        lease_until=None,
        ended_at=now(),
    )
    Run.objects.filter(pk=branch.run_id).update(error=error)
    record(
        "run.quarantined",
        workspace_id=branch.workspace_id,
        actor=SYSTEM,
        run_id=branch.run_id,
        agent_id=branch.run.agent_id,
        subject_id=branch.pk,
        data=RunQuarantined(branch=branch.name, attempts=claimed.resumption.attempts, error=error),
    )
    derive(branch.run_id)
