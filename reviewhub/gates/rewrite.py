"""A person rewrites the state at a checkpoint: the run goes on from there, the old branch is superseded."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from reviewhub_agents import wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.gates.close import close
from reviewhub.gates.kinds import BranchSuperseded
from reviewhub.gates.set_aside import setting_aside
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.reviews.targets import run_target
from reviewhub.runs.derive import derive
from reviewhub.runs.fence import check_open
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BRANCH_EDGES, BranchState
from reviewhub.toolcalls.locks import lock_branch


@setting_aside()
def rewrite(
    *, checkpoint: Checkpoint, changes: Sequence[wire.Change], reason: str, actor: Actor
) -> tuple[Branch, Checkpoint]:
    """A new branch that starts at `checkpoint` with the changed state, and wakes; its old branch ends as superseded.

    What waited on the old branch is withdrawn, its holder is fenced; outcomes of calls under way are still taken there.

    Raises:
        Superseded, RunEnded: the checkpoint's branch is no longer open (fork it instead).
        AgentStopped, NotAnyMore: the agent is stopped by now, or the person may not do this any more.
        Invalid: a change does not fit the state.
    """
    with transaction.atomic(durable=True):
        old = lock_branch(checkpoint.branch_id)
        check_open(old)
        still_may(actor, Action.CHECKPOINT_REWRITE, run_target(checkpoint.run))
        branch, first = fork(
            checkpoint=checkpoint,
            name=None,
            changes=[change.to_tree() for change in changes],
            reason=reason,
            actor=actor,
        )
        close(
            branch=old,
            to=BranchState.SUPERSEDED,
            by=actor,
            type_="withdraw",
            message=f"The run was rewritten: {reason}",
            superseded_by=branch,
        )
        record(
            "branch.superseded",
            workspace_id=old.workspace_id,
            actor=actor,
            run_id=old.run_id,
            agent_id=branch.run.agent_id,
            subject_id=branch.pk,
            data=BranchSuperseded(old=old.name, new=branch.name, checkpoint=str(first.pk), reason=reason),
        )
        move(branch, to=BranchState.PAUSED, table=BRANCH_EDGES)
        enqueue(branch=branch, pause=None, kind="hosted" if branch.run.agent.runner == "hosted" else "poll")
        derive(branch.run_id)
    return branch, first
