"""Runs that have worked as long as they may are halted; waiting for people or a worker does not count."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet

from reviewhub.core.actors import SYSTEM
from reviewhub.core.clock import now
from reviewhub.core.sweeps import each
from reviewhub.resumptions.queries import waits_of
from reviewhub.runs.halt import halt
from reviewhub.runs.models import Branch, Halt, Run
from reviewhub.runs.queries import locked_branch
from reviewhub.runs.states import BranchState, RunState
from reviewhub.runs.worked import Span, worked
from reviewhub.toolcalls.models import Pause

GOING = (BranchState.RUNNING, BranchState.RESUMING)


def sweep_overtime() -> int:
    """Halts the branches of runs whose time is used up; how many that were."""
    going = Branch.objects.filter(run=OuterRef("pk"), state__in=GOING, is_halted=False)
    limited = Run.objects.filter(
        Exists(going), state__in=[RunState.RUNNING, RunState.PAUSED], time_limit_seconds__gt=0
    )
    at = now()
    runs = limited.annotate(many=Count("branches")).only("pk", "created_at", "time_limit_seconds")
    return each(lambda run: _halt_late(run, many=run.many, at=at), runs)


def _halt_late(run: Run, *, many: int, at: datetime) -> int:
    limit = timedelta(seconds=run.time_limit_seconds)
    # All its branches together cannot have worked for longer: most runs need no second look.
    if many * (at - run.created_at) < limit:
        return 0
    taken = time_worked(run.pk)
    if taken < limit:
        return 0
    return sum(_halt(pk, taken, run.time_limit_seconds) for pk in _going(run.pk))


def time_worked(run_id: uuid.UUID, *, branches: Sequence[Branch] | None = None) -> timedelta:
    """How long somebody was at the branches of a run, all together, up to now: neither people nor a queue had them.

    Args:
        branches: all of the run's, where the caller has read them.
    """
    at = now()
    waits: dict[uuid.UUID, list[Span]] = {}
    pauses = Pause.objects.filter(run_id=run_id).values_list("branch_id", "created_at", "state", "settled_at")
    for branch_id, begin, state, end in pauses:
        waits.setdefault(branch_id, []).append((begin, at if state == "waiting" else end or begin))
    halts = Halt.objects.filter(branch__run_id=run_id).values_list("branch_id", "began_at", "ended_at")
    for branch_id, begin, end in halts:
        waits.setdefault(branch_id, []).append((begin, end or at))
    for branch_id, span in waits_of(run_id, at=at):
        waits.setdefault(branch_id, []).append(span)
    every = Branch.objects.filter(run_id=run_id) if branches is None else branches
    spans = [worked(span=(one.created_at, one.ended_at or at), waits=waits.get(one.pk, ())) for one in every]
    return sum(spans, timedelta(0))


def _going(run_id: uuid.UUID) -> QuerySet[Branch, uuid.UUID]:
    going = Branch.objects.filter(run_id=run_id, state__in=GOING, is_halted=False)
    return going.order_by("pk").values_list("pk", flat=True)


@transaction.atomic
def _halt(branch_id: uuid.UUID, taken: timedelta, limit: int) -> bool:
    why = f"It has worked for {int(taken.total_seconds())} s; it may work for {limit} s."
    return halt(branch=locked_branch(branch_id), kind=Halt.Kind.TIME, reason=why, actor=SYSTEM)
