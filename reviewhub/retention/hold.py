"""A run is put under hold: nothing of it is removed until somebody lifts it."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.checkpoints.models import Hold
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict
from reviewhub.retention.kinds import RunHeld
from reviewhub.retention.reasons import check_reason
from reviewhub.reviews.targets import run_target
from reviewhub.runs.models import Run
from reviewhub.toolcalls.locks import lock_run


class Held(Conflict):
    """This run is under hold: nothing of it is removed."""

    code = "held"


@transaction.atomic
def hold(*, run: Run, reason: str, actor: Actor) -> Hold:
    """Whoever removes something of the run holds its lock, so they came first, or find the hold.

    Raises:
        Invalid: no reason is given, or one that cannot be kept.
        Held: it is under hold already.
        NotAnyMore: who acts may not do so any more.
    """
    check_reason(reason)
    still_may(actor, Action.RUN_HOLD, run_target(run))
    lock_run(run.pk)
    before = Hold.objects.filter(run=run).first()
    if before is not None:
        raise Held(f"{before.by_name} put this run under hold already: {before.reason}")
    made = Hold.objects.create(run=run, reason=reason.strip(), by_name=actor.name[:200])
    record(
        "run.held",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        agent_id=run.agent_id,
        subject_id=run.pk,
        data=RunHeld(title=str(run), reason=made.reason),
    )
    return made
