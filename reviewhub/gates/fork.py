"""A run goes on from an older checkpoint, on a branch of its own."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.checkpoints.fork import Beginning, beginning
from reviewhub.checkpoints.fork import fork as fork_checkpoint
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import saved
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.idempotency import claim
from reviewhub.gates.carry_plan import carry_plan
from reviewhub.gates.fork_children import fork_children
from reviewhub.gates.set_aside import setting_aside
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.reviews.targets import run_target
from reviewhub.runs.derive import derive
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.locks import lock_branch


@setting_aside()
def fork(*, checkpoint: Checkpoint, body: wire.ForkBody, key: str, actor: Actor) -> tuple[Branch, Checkpoint]:
    """A new open branch whose first checkpoint follows `checkpoint`; nothing is superseded, also ended runs fork.

    The child runs that the checkpoint knows of are forked with it, each from where it was then.
    A hosted run's branch is picked up by a worker; an agent that polls goes on with it when it likes. A repeat with
    the same idempotency key finds the branch that it made.

    Raises:
        AgentStopped: nothing of a stopped agent starts.
        NotAnyMore: who forks may not do so any more.
        CheckpointRemoved: the checkpoint was removed meanwhile.
    """
    scope = f"fork:{checkpoint.pk}"
    changes = [change.to_tree() for change in body.changes]
    # Before the transaction, for it may take long.
    first_row = beginning(checkpoint=checkpoint, changes=changes, reason=body.reason)
    with transaction.atomic():
        kept = claim(scope=scope, key=key, body_digest=canonical.body_digest(body.to_tree()))
        if kept.answer is not None:
            first = saved(uuid.UUID(kept.answer))
            return first.branch, first
        branch, first = fork_here(checkpoint=checkpoint, body=body, first=first_row, actor=actor)
        kept.keep(status=201, answer=str(first.pk))
        faults.point("fork.before_commit")
    return branch, first


def fork_here(
    *, checkpoint: Checkpoint, body: wire.ForkBody, first: Beginning, actor: Actor
) -> tuple[Branch, Checkpoint]:
    """The same in the caller's transaction, which holds no lock but that of branches of the run.

    Args:
        first: what `beginning` made, before the transaction.
    """
    # While its branch is locked nothing of the run is removed; the new branch then pins what it stands on.
    lock_branch(checkpoint.branch_id)
    still_may(actor, Action.CHECKPOINT_FORK, run_target(checkpoint.run))
    branch, saved_first = fork_checkpoint(
        checkpoint=checkpoint,
        name=body.branch,
        changes=[change.to_tree() for change in body.changes],
        reason=body.reason,
        actor=actor,
        first=first,
    )
    fork_children(checkpoint=checkpoint, to=branch, actor=actor)
    carry_plan(
        checkpoint=checkpoint,
        to=branch,
        choice=body.plan,
        why=wire.PlanWhyKind.FORKED,
        reason=body.reason,
        actor=actor,
    )
    if branch.run.agent.runner == "hosted":
        enqueue(branch=branch, pause=None, kind="hosted")
    derive(branch.run_id)
    return branch, saved_first
