"""A person halts a run: nothing starts for it until somebody resumes it."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.core.actors import Actor
from reviewhub.core.text import check_text
from reviewhub.reviews.targets import run_target
from reviewhub.runs.fence import check_goes_on
from reviewhub.runs.halt import halt as halt_branch
from reviewhub.runs.models import Branch, Halt, Run
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.toolcalls.locks import lock, lock_children


@transaction.atomic
def halt(*, run_id: uuid.UUID, reason: str, actor: Actor) -> bool:
    """Halts every open branch of a run, and the child runs that they started.

    False when all were halted already. What has started goes on to its end, and people may decide
    what waits.

    Raises:
        RunEnded, IllegalTransition: no branch of it is open.
        NotAnyMore: who halts may not do so any more.
    """
    check_text(reason, path="/reason")
    run = Run.objects.select_related("agent").get(pk=run_id)
    own = list(lock(Branch.objects.filter(run=run, state__in=OPEN_BRANCH).order_by("pk")))
    branches = [*own, *lock_children(own)]
    still_may(actor, Action.RUN_HALT, run_target(run))
    check_goes_on(run, own)
    done = [halt_branch(branch=one, kind=Halt.Kind.PERSON, reason=reason, actor=actor) for one in branches]
    return any(done)
