"""A branch is set aside: it goes on when a person retries or forks it, and not before."""

from __future__ import annotations

from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM
from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.runs.derive import derive
from reviewhub.runs.kinds import RunQuarantined
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BRANCH_EDGES, BranchState


def quarantine(*, branch: Branch, error: str, attempts: int = 0) -> None:
    """Sets a branch aside with its error, ends its lease and epoch, and says so in the record.

    Runs in the caller's transaction with the branch locked; wakings are the caller's to end. Calls and grants stay.

    Args:
        error: why, in words for people; the run shows it.
        attempts: how often it was tried before, 0 when trying was not the question.

    Raises:
        IllegalTransition, StaleState: the branch is not open any more.
    """
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
        data=RunQuarantined(branch=branch.name, attempts=attempts, error=error),
    )
    derive(branch.run_id)
