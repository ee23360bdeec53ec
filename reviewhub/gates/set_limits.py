"""A person says what a run may spend and how long it may work; halts that only the old limits made are lifted."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.text import check_text
from reviewhub.gates.kinds import LimitsSet
from reviewhub.gates.overtime import time_worked
from reviewhub.gates.wake import wake
from reviewhub.reviews.targets import run_target
from reviewhub.runs.children import family_spent
from reviewhub.runs.halt import lift
from reviewhub.runs.models import Branch, Halt, Run
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.toolcalls.locks import lock, lock_children

MOST_MICROS = 10**15
MOST_SECONDS = 365 * 24 * 3600


@transaction.atomic
def set_limits(
    *,
    run_id: uuid.UUID,
    spend_micros: int | None = None,
    seconds: int | None = None,
    reason: str,
    actor: Actor,
) -> Run:
    """Sets the limits of a run and lets it go on where it was halted for them,
    and the child runs that it started.

    Args:
        spend_micros: what its model calls may cost, in millionths; 0 without limit, None as it is.
        seconds: how long its branches may work, all together; 0 without limit, None as it is.

    Raises:
        Invalid: a limit is out of range, or used up already: then nothing changes.
        AgentStopped: its agent is stopped.
        NotAnyMore: who sets them may not do so any more.
    """
    check_text(reason, path="/reason")
    _within("/spend_micros", spend_micros, MOST_MICROS)
    _within("/time", seconds, MOST_SECONDS)
    run = Run.objects.select_related("agent").get(pk=run_id)
    branches = list(lock(Branch.objects.filter(run=run, state__in=OPEN_BRANCH).order_by("pk")))
    branches += lock_children(branches)
    still_may(actor, Action.RUN_RESUME, run_target(run))
    run = lock(Run.objects.filter(pk=run_id).select_related("agent")).get()
    if spend_micros is not None:
        spent = family_spent(run)
        if 0 < spend_micros <= spent:
            raise Invalid.at("/spend_micros", f"it has spent {spent} millionths already")
        run.spend_limit_micros = spend_micros
    if seconds is not None:
        if seconds and time_worked(run_id) >= timedelta(seconds=seconds):
            raise Invalid.at("/time", f"it has worked for longer than {seconds} s already")
        run.time_limit_seconds = seconds
    run.save(update_fields=["spend_limit_micros", "time_limit_seconds"])
    record(
        "run.limits_set",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        agent_id=run.agent_id,
        subject_id=run.pk,
        data=LimitsSet(spend_micros=run.spend_limit_micros, seconds=run.time_limit_seconds, reason=reason),
    )
    _go_on(
        run, branches, spend=spend_micros is not None, time=seconds is not None, reason=reason, actor=actor
    )
    return run


def _within(path: str, value: int | None, most: int) -> None:
    if value is not None and not 0 <= value <= most:
        raise Invalid.at(path, f"0 to {most}; {value} given")


def _go_on(run: Run, branches: list[Branch], *, spend: bool, time: bool, reason: str, actor: Actor) -> None:
    kinds = [Halt.Kind.SPEND] * spend + [Halt.Kind.TIME] * time
    halted = Halt.objects.filter(branch__in=branches, ended_at=None, kind__in=kinds)
    lifted = set(halted.values_list("branch_id", flat=True))
    for branch in branches:
        if branch.pk in lifted and lift(branch=branch, reason=reason, actor=actor):
            wake(branch=branch, agent=run.agent)
