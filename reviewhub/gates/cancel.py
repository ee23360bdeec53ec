"""A run is cancelled: all its open branches end."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.text import check_text
from reviewhub.gates.close import close
from reviewhub.gates.end_children import end_children
from reviewhub.gates.kinds import RunCancelled
from reviewhub.reviews.targets import run_target
from reviewhub.runs.derive import derive
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import OPEN_BRANCH, BranchState
from reviewhub.toolcalls.locks import lock, lock_children


@transaction.atomic
def cancel(*, run_id: uuid.UUID, reason: str, actor: Actor) -> bool:
    """Cancels every open or quarantined branch of a run, and the child runs that they started.

    False when there is no such branch: a second time changes nothing.

    What waited becomes `cancelled`, whoever polls it is told so; a decision that comes later gets a 409.

    Raises:
        NotAnyMore, AgentStopped: who cancels may not do so any more.
    """
    check_text(reason, path="/reason")
    run = Run.objects.select_related("agent").get(pk=run_id)
    branches = _open(run)
    children = lock_children(branches)
    still_may(actor, Action.RUN_CANCEL, run_target(run))
    return _end(run, branches, children, reason, actor)


@transaction.atomic
def cancel_stopped(*, run_id: uuid.UUID, reason: str, actor: Actor) -> bool:
    """The same for a run of an agent that was just stopped: `stop` asked whether `actor` may, once for all of them."""
    run = Run.objects.get(pk=run_id)
    branches = _open(run)
    return _end(run, branches, lock_children(branches), reason, actor)


def _open(run: Run) -> list[Branch]:
    going = (*OPEN_BRANCH, BranchState.QUARANTINED)
    return list(lock(Branch.objects.filter(run=run, state__in=going).order_by("pk")))


def _end(run: Run, branches: list[Branch], children: list[Branch], reason: str, actor: Actor) -> bool:
    if not branches:
        return False
    for branch in branches:
        close(branch=branch, to=BranchState.CANCELLED, by=actor, type_="cancel", message=reason)
    end_children(children=children, reason=reason, actor=actor)
    record(
        "run.cancelled",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        agent_id=run.agent_id,
        data=RunCancelled(reason=reason),
    )
    derive(run.pk)
    return True
