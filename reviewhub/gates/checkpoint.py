"""An agent saves a checkpoint between its pauses."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.budgets.rules import FieldWarning
from reviewhub.budgets.warned import warned
from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import saved
from reviewhub.checkpoints.save import save
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.idempotency import answered, claim
from reviewhub.gates.errors import BranchPaused
from reviewhub.gates.set_aside import setting_aside
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.fence import check
from reviewhub.runs.models import Run
from reviewhub.runs.queries import branch_of
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import lock_branch


@dataclass(frozen=True, kw_only=True)
class Saved:
    """The checkpoint, and what its writer is warned of; nothing when an earlier request saved it."""

    checkpoint: Checkpoint
    warnings: list[FieldWarning] = field(default_factory=list)


@setting_aside()
def checkpoint(*, run: Run, body: wire.CheckpointSave, key: str | None, actor: Actor) -> Saved:
    """Saves a state as the branch's new head.

    Args:
        key: the idempotency key: a repeat after a lost answer finds the checkpoint that it saved. None for a
            writer that goes on from the head then, and repeats nothing.

    Raises:
        Superseded, StaleEpoch, RunEnded, StaleHead, BranchPaused: the branch is not where the agent thinks.
        Invalid: the state, or a hint about it, is wrong.
        IdempotencyConflict: the key was used with another body.
        CheckpointRemoved: a repeat came after what it had saved was removed.
    """
    once = None
    if key is not None:
        once = {
            "scope": f"checkpoint:{run.pk}",
            "key": key,
            "body_digest": canonical.body_digest(body.to_tree()),
        }
        before = answered(**once)
        if before is not None:
            return Saved(checkpoint=saved(uuid.UUID(before)))
    branch = branch_of(run, body.branch)
    made = draft(branch=branch, message=body)
    with transaction.atomic(durable=True):
        kept = claim(**once) if once else None
        if kept is not None and kept.answer is not None:
            return Saved(checkpoint=saved(uuid.UUID(kept.answer)))
        branch = lock_branch(branch.pk)
        check(branch, body.epoch)
        still_may(actor, Action.RUN_WRITE, Target(workspace_id=run.workspace_id, agent_id=run.agent_id))
        if branch.state == BranchState.PAUSED:
            # What people look at is the state at the pause; it must not move under their eyes.
            raise BranchPaused
        acknowledge(branch=branch)
        row = save(branch=branch, draft=made, actor=actor)
        if kept is not None:
            kept.keep(status=201, answer=str(row.pk))
        faults.point("checkpoint.before_commit")
    faults.point("checkpoint.after_commit")
    return Saved(checkpoint=row, warnings=warned(agent_id=run.agent_id, draft=made))
