"""Somebody wants a checkpoint kept."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.checkpoints.load import removed_of_run
from reviewhub.checkpoints.models import Checkpoint, Pin
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict, NotFound
from reviewhub.retention.kinds import CheckpointPinned
from reviewhub.retention.reasons import check_reason
from reviewhub.reviews.targets import run_target
from reviewhub.toolcalls.locks import lock_branch


class Pinned(Conflict):
    """This checkpoint is pinned already."""

    code = "pinned"


@transaction.atomic
def pin(*, checkpoint: Checkpoint, reason: str, actor: Actor) -> Pin:
    """Keeps a checkpoint, and what it stands on, until the pin is taken off; also when its run is deleted.

    Raises:
        Invalid: no reason is given, or one that cannot be kept.
        Pinned: somebody did already.
        CheckpointRemoved: it was removed meanwhile.
        NotAnyMore: who acts may not do so any more.
    """
    check_reason(reason)
    branch = lock_branch(checkpoint.branch_id)
    still_may(actor, Action.CHECKPOINT_PIN, run_target(checkpoint.run))
    if not Checkpoint.objects.filter(pk=checkpoint.pk).exists():
        raise removed_of_run(checkpoint.pk, run_id=checkpoint.run_id) or NotFound()
    before = Pin.objects.filter(pk=checkpoint.pk).first()
    if before is not None:
        raise Pinned(f"{before.by_name} pinned this checkpoint already: {before.reason}")
    made = Pin.objects.create(
        checkpoint=checkpoint, run_id=checkpoint.run_id, reason=reason.strip(), by_name=actor.name[:200]
    )
    record(
        "checkpoint.pinned",
        workspace_id=checkpoint.workspace_id,
        actor=actor,
        run_id=checkpoint.run_id,
        agent_id=checkpoint.run.agent_id,
        subject_id=checkpoint.pk,
        data=CheckpointPinned(
            branch=branch.name,
            number=checkpoint.number,
            state_hash=checkpoint.state_hash,
            reason=made.reason,
        ),
    )
    return made
