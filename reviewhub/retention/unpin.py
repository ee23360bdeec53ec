"""A pin is taken off a checkpoint."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.checkpoints.models import Checkpoint, Pin
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict
from reviewhub.retention.kinds import CheckpointUnpinned
from reviewhub.reviews.targets import run_target
from reviewhub.toolcalls.locks import lock_branch


class NotPinned(Conflict):
    """This checkpoint is not pinned."""

    code = "not_pinned"


@transaction.atomic
def unpin(*, checkpoint: Checkpoint, actor: Actor) -> None:
    """The rules are about the checkpoint again from now on.

    Raises:
        NotPinned: it is not pinned.
        NotAnyMore: who acts may not do so any more.
    """
    branch = lock_branch(checkpoint.branch_id)
    still_may(actor, Action.CHECKPOINT_PIN, run_target(checkpoint.run))
    found = Pin.objects.filter(pk=checkpoint.pk).first()
    if found is None:
        raise NotPinned
    found.delete()
    record(
        "checkpoint.unpinned",
        workspace_id=checkpoint.workspace_id,
        actor=actor,
        run_id=checkpoint.run_id,
        agent_id=checkpoint.run.agent_id,
        subject_id=checkpoint.pk,
        data=CheckpointUnpinned(
            branch=branch.name,
            number=checkpoint.number,
            state_hash=checkpoint.state_hash,
            pinned_because=found.reason,
        ),
    )
