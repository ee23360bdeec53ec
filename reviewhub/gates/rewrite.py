"""A person rewrites the state at a checkpoint: the run goes on from there, the old branch is superseded."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from reviewhub_agents import wire
from reviewhub_agents.canonical import Tree

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.checkpoints.fork import Beginning, beginning, fork
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.gates.carry_plan import carry_plan
from reviewhub.gates.close import close
from reviewhub.gates.consequences import check_seen, of_branch, still_open
from reviewhub.gates.end_children import end_children
from reviewhub.gates.fork_children import fork_children
from reviewhub.gates.kinds import BranchSuperseded
from reviewhub.gates.rewritten import Rewritten
from reviewhub.gates.set_aside import setting_aside
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.reviews.targets import run_target
from reviewhub.runs.derive import derive
from reviewhub.runs.states import BRANCH_EDGES, BranchState
from reviewhub.toolcalls.locks import lock_branch, lock_children


@setting_aside()
def rewrite(
    *,
    checkpoint: Checkpoint,
    changes: Sequence[wire.Change],
    reason: str,
    actor: Actor,
    seen: str = "",
    plan: wire.PlanChoice = wire.PlanChoice.KEEP,
) -> Rewritten:
    """A new branch that starts at `checkpoint` with the changed state, and wakes; its old branch ends as superseded.

    What waited on the old branch is withdrawn, its holder is fenced; outcomes of calls under way are still taken there.

    Args:
        seen: what `consequences` said when a person looked; empty for whoever did not look.
        plan: which plan the new branch goes on with.

    Raises:
        Superseded, RunEnded: the checkpoint's branch is no longer open (fork it instead); who ended it, and when.
        MovedOn: the branch has gone on since it was seen; who was last, and when.
        AgentStopped, NotAnyMore: the agent is stopped by now, or the person may not do this any more.
        Invalid: a change does not fit the state.
    """
    steps = [change.to_tree() for change in changes]
    # Before the transaction, for it may take long: nobody waits at the branch's lock meanwhile.
    first = beginning(checkpoint=checkpoint, changes=steps, reason=reason)
    with transaction.atomic(durable=True):
        return within(
            checkpoint=checkpoint, steps=steps, reason=reason, actor=actor, seen=seen, plan=plan, first=first
        )


def within(
    *,
    checkpoint: Checkpoint,
    steps: Sequence[Tree],
    reason: str,
    actor: Actor,
    seen: str,
    plan: wire.PlanChoice,
    first: Beginning,
) -> Rewritten:
    """The same in the caller's transaction, with the new branch's `first` checkpoint prepared before it."""
    old = lock_branch(checkpoint.branch_id)
    children = lock_children([old])
    still_open(old)
    still_may(actor, Action.CHECKPOINT_REWRITE, run_target(checkpoint.run))
    found = of_branch(old, checkpoint)
    if seen:
        check_seen(found, seen)
    branch, saved = fork(
        checkpoint=checkpoint,
        name=None,
        stem="rewrite",
        changes=steps,
        reason=reason,
        actor=actor,
        first=first,
    )
    fork_children(checkpoint=checkpoint, to=branch, actor=actor)
    closed = close(
        branch=old,
        to=BranchState.SUPERSEDED,
        by=actor,
        type_="withdraw",
        message=f"The run was rewritten: {reason}",
        superseded_by=branch,
    )
    end_children(children=children, reason=f"The run that started it was rewritten: {reason}", actor=actor)
    record(
        "branch.superseded",
        workspace_id=old.workspace_id,
        actor=actor,
        run_id=old.run_id,
        agent_id=branch.run.agent_id,
        subject_id=branch.pk,
        data=BranchSuperseded(old=old.name, new=branch.name, checkpoint=str(saved.pk), reason=reason),
    )
    carry_plan(
        checkpoint=checkpoint,
        to=branch,
        choice=plan,
        why=wire.PlanWhyKind.REWRITTEN,
        reason=reason,
        actor=actor,
    )
    move(branch, to=BranchState.PAUSED, table=BRANCH_EDGES)
    enqueue(branch=branch, pause=None, kind="hosted" if branch.run.agent.runner == "hosted" else "poll")
    derive(branch.run_id)
    return Rewritten(branch=branch, first=saved, old=found, closed=closed)
