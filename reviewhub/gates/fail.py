"""An agent ends its branch as failed."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.gates.close import close
from reviewhub.gates.kinds import RunFailed
from reviewhub.runs.derive import derive
from reviewhub.runs.fence import check
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import lock_branch


@transaction.atomic
def fail(*, branch_id: uuid.UUID, error: str, epoch: int | None, actor: Actor) -> Branch:
    """Ends the branch; what still waited in it is cancelled. Failing a failed branch again changes nothing.

    Raises:
        Superseded, StaleEpoch, RunEnded: this caller may not write for the branch.
    """
    branch = lock_branch(branch_id)
    if branch.state == BranchState.FAILED:
        return branch
    check(branch, epoch)
    close(branch=branch, to=BranchState.FAILED, by=actor, type_="cancel", message=f"The run failed: {error}")
    Run.objects.filter(pk=branch.run_id).update(error=error)
    record(
        "run.failed",
        workspace_id=branch.workspace_id,
        actor=actor,
        run_id=branch.run_id,
        agent_id=branch.run.agent_id,
        data=RunFailed(branch=branch.name, error=error),
    )
    derive(branch.run_id)
    return branch
