"""A checkpoint is damaged: that goes on record, and its branch does not go on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from reviewhub.audit.queries import Filters, list_events
from reviewhub.audit.record import record
from reviewhub.checkpoints.kinds import CheckpointCorrupt
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import SYSTEM
from reviewhub.resumptions.abandon import abandon
from reviewhub.runs.quarantine import quarantine
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import lock_branch

GOING = (BranchState.RUNNING, BranchState.RESUMING)


@contextmanager
def setting_aside() -> Iterator[None]:
    """Around what reads states, and around its transaction: a damaged one is set aside, and the error goes on."""
    try:
        yield
    except CorruptCheckpoint as error:
        set_aside(checkpoint_id=uuid.UUID(error.extra["checkpoint"]))
        raise


@transaction.atomic
def set_aside(*, checkpoint_id: uuid.UUID) -> None:
    """Records once that a checkpoint is damaged, and quarantines its branch if that is going on.

    A branch that waits for people keeps waiting, so that their decisions are not lost; it is set aside when it is about
    to go on. People can fork a checkpoint that is whole.
    """
    row = Checkpoint.objects.select_related("run").defer("content").get(pk=checkpoint_id)
    branch = lock_branch(row.branch_id)
    known = Filters(kind="checkpoint.corrupt", subject_id=row.pk)
    if not list_events(workspace_id=row.workspace_id, filters=known, limit=1).events:
        record(
            "checkpoint.corrupt",
            workspace_id=row.workspace_id,
            actor=SYSTEM,
            run_id=row.run_id,
            agent_id=row.run.agent_id,
            subject_id=row.pk,
            data=CheckpointCorrupt(
                branch=branch.name, number=row.number, checkpoint=str(row.pk), state_hash=row.state_hash
            ),
        )
    if branch.state in GOING:
        abandon(branches=[branch.pk])
        error = f"Checkpoint {row.number} of {branch.name} does not match its hash. Fork one that does."
        quarantine(branch=branch, error=error)
