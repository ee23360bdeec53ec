"""Reads of wakings."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import F, Prefetch, Q, QuerySet

from reviewhub.accounts.models import AgentKey
from reviewhub.core.clock import DbNow, now
from reviewhub.core.rows import one_or_none
from reviewhub.resumptions.models import Failure, Resumption
from reviewhub.resumptions.states import ResumptionState
from reviewhub.runs.models import Branch
from reviewhub.runs.queries import runs_of
from reviewhub.runs.states import BranchState


def open_for(key: AgentKey) -> QuerySet[Resumption]:
    """What a polling agent may go on with by this key, the oldest first, each with branch, run and pause loaded."""
    rows = Resumption.objects.filter(
        kind="poll",
        state=ResumptionState.QUEUED,
        branch__run__in=runs_of(key),
        due_at__lte=DbNow(),
        branch__is_halted=False,
    )
    return rows.select_related("branch__run", "pause").order_by("due_at", "id")


def written_by(branch: Branch, epoch: int | None) -> Resumption | None:
    """The waking that the holder of `epoch` left when it gave `branch` up, while nobody has taken the branch since.

    Whoever finds it did not hear that it was given up, and asks again.
    """
    if epoch is None or branch.epoch != epoch + 1 or branch.state != BranchState.RESUMING:
        return None
    return one_or_none(Resumption.objects.filter(branch=branch, state=ResumptionState.QUEUED, pause=None))


def claimable() -> QuerySet[Resumption]:
    """Hosted wakings that a worker may take now: due and queued, or claimed with a lease that ran out; not halted."""
    return Resumption.objects.filter(
        Q(state=ResumptionState.QUEUED, due_at__lte=DbNow())
        | Q(state=ResumptionState.CLAIMED, lease_until__lte=DbNow()),
        kind="hosted",
        branch__is_halted=False,
    ).order_by("due_at", "id")


def claimable_just_now(within: timedelta) -> QuerySet[Resumption]:
    """Of these the ones that nobody was told of: their timer, or the lease of their worker, has run out just now."""
    since = now() - within
    late = Q(due_at__gt=since) & Q(due_at__gt=F("created_at") + timedelta(seconds=1))
    return claimable().filter(
        Q(late, state=ResumptionState.QUEUED) | Q(state=ResumptionState.CLAIMED, lease_until__gt=since)
    )


def failures_of(run_id: uuid.UUID, *, most: int) -> list[Failure]:
    """What went wrong with the attempts of a run, the newest first, each with its branch loaded."""
    rows = Failure.objects.filter(resumption__branch__run_id=run_id).select_related("resumption__branch")
    return list(rows.order_by("-at", "-pk")[:most])


def waits_of(run_id: uuid.UUID, *, at: datetime) -> list[tuple[uuid.UUID, tuple[datetime, datetime]]]:
    """When branches of a run waited for somebody to go on with them, up to `at`: a worker, or an agent that polls.

    That is from when a waking was written until it was taken for the first time, and the time until it was due again
    after an attempt that did not work out. Each with its branch; spans may overlap.
    """
    found: list[tuple[uuid.UUID, tuple[datetime, datetime]]] = []
    rows = Resumption.objects.filter(branch__run_id=run_id).prefetch_related(
        Prefetch("failures", Failure.objects.order_by("at", "pk"))
    )
    for row in rows:
        found.append((row.branch_id, (row.created_at, _taken(row, at))))
        failures = list(row.failures.all())
        for failure in failures:
            until = failure.again_at or (
                _again(row, failure.at, at) if failure is failures[-1] else failure.at
            )
            found.append((row.branch_id, (failure.at, until)))
    return found


def _taken(row: Resumption, at: datetime) -> datetime:
    """When the waking had woken somebody; one that was taken before that was kept counts from its beginning."""
    if row.taken_at is not None:
        return row.taken_at
    if row.state == ResumptionState.QUEUED and not row.attempts:
        return at
    return row.ended_at if row.ended_at is not None and not row.attempts else row.created_at


def _again(row: Resumption, failed_at: datetime, at: datetime) -> datetime:
    """Until when a waking stood still after its last failure, when no time for the next attempt was set."""
    return at if row.state == ResumptionState.FAILED else max(failed_at, row.due_at)


def waits_for_children(branches: Iterable[Branch]) -> bool:
    """Whether one of these branches has given itself up until its child runs have ended."""
    return Resumption.objects.open().filter(branch__in=list(branches), for_children=True).exists()
