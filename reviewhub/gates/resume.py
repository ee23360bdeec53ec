"""A person resumes a run that was halted."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.core.actors import Actor
from reviewhub.core.text import check_text
from reviewhub.gates.wake import wake
from reviewhub.reviews.targets import run_target
from reviewhub.runs.fence import check_goes_on
from reviewhub.runs.halt import lift
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.toolcalls.locks import lock, lock_children


@transaction.atomic
def resume(*, run_id: uuid.UUID, reason: str, actor: Actor) -> bool:
    """Lifts the halts of a run's open branches, and of the child runs that they started; false when none was halted.

    Those that wait for nobody are woken.

    Raises:
        RunEnded, IllegalTransition: no branch of it is open.
        AgentStopped: its agent is stopped.
        NotAnyMore: who resumes may not do so any more.
    """
    check_text(reason, path="/reason")
    run = Run.objects.select_related("agent").get(pk=run_id)
    own = list(lock(Branch.objects.filter(run=run, state__in=OPEN_BRANCH).order_by("pk")))
    branches = [one for one in (*own, *lock_children(own)) if one.is_halted]
    still_may(actor, Action.RUN_RESUME, run_target(run))
    check_goes_on(run, own)
    for branch in branches:
        lift(branch=branch, reason=reason, actor=actor)
        wake(branch=branch, agent=run.agent)
    return bool(branches)
