"""What ends a branch ends the child runs that it started, and theirs: nobody would wait for them any more."""

from __future__ import annotations

from collections.abc import Sequence

from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.gates.close import close
from reviewhub.gates.kinds import RunCancelled
from reviewhub.runs.derive import derive
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BranchState


def end_children(*, children: Sequence[Branch], reason: str, actor: Actor) -> None:
    """Cancels child branches, in the caller's transaction, after the branch that started them.

    Args:
        children: as `toolcalls.locks.lock_children` gave them, before anything of the branch above was touched.
    """
    for branch in children:
        close(branch=branch, to=BranchState.CANCELLED, by=actor, type_="cancel", message=reason)
        record(
            "run.cancelled",
            workspace_id=branch.workspace_id,
            actor=actor,
            run_id=branch.run_id,
            agent_id=branch.run.agent_id,
            data=RunCancelled(reason=reason),
        )
        derive(branch.run_id)
