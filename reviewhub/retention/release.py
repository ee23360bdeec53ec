"""A hold on a run is lifted."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.checkpoints.models import Hold
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict
from reviewhub.retention.kinds import RunReleased
from reviewhub.retention.reasons import check_reason
from reviewhub.reviews.targets import run_target
from reviewhub.runs.models import Run
from reviewhub.toolcalls.locks import lock_run


class NotHeld(Conflict):
    """This run is not under hold."""

    code = "not_held"


@transaction.atomic
def release(*, run: Run, reason: str, actor: Actor) -> None:
    """The rules are about the run again from now on.

    Raises:
        Invalid: no reason is given, or one that cannot be kept.
        NotHeld: it is not under hold.
        NotAnyMore: who acts may not do so any more.
    """
    check_reason(reason)
    still_may(actor, Action.RUN_HOLD, run_target(run))
    lock_run(run.pk)
    found = Hold.objects.filter(run=run).first()
    if found is None:
        raise NotHeld
    found.delete()
    record(
        "run.released",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        agent_id=run.agent_id,
        subject_id=run.pk,
        data=RunReleased(title=str(run), reason=reason.strip(), held_because=found.reason),
    )
