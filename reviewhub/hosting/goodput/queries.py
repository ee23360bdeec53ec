"""The figures of a run, of an agent and of the workers, from the rows of shifts and pauses."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum

from reviewhub.accounts.models import Agent
from reviewhub.core import clock
from reviewhub.hosting.goodput.rules import Interval, Spent, WorkerTime, from_zero, length, worker_time
from reviewhub.hosting.goodput.shifts import MICRO, TIMES, spent_of
from reviewhub.hosting.models import Shift
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import Pause

MOST_PAUSES = 20_000
_SUMS = {f"all_{name}": Sum(f"{name}_us") for name in (*TIMES, "queue")} | {
    "all_saves": Sum("saves"),
    "all_paid": Sum("paid"),
    "all_spared": Sum("spared"),
    "shifts": Count("id"),
    "losses": Count("id", filter=Q(ending__in=[Shift.Ending.LOST, Shift.Ending.FAILED])),
    "waited": Sum("recovery_us", filter=Q(after_loss=True)),
    "returns": Count("id", filter=Q(after_loss=True)),
    "longest": Max("recovery_us", filter=Q(after_loss=True)),
}


@dataclass(frozen=True, kw_only=True)
class Goodput:
    """Where the time went, in seconds.

    people: while a pause waited for people. queue: from when a waking was due until a worker took it. losses: shifts
    whose last work was lost (the worker died, or the agent failed). latency, longest: from the last sign of life of a
    worker that died until the branch was loaded by another one, on average and at most; None when none died.
    """

    spent: Spent
    people: float
    queue: float
    shifts: int
    losses: int
    latency: float | None
    longest: float | None

    @property
    def parts(self) -> list[tuple[str, float]]:
        """The time by kind, in the order in which it is shown."""
        one = self.spent
        return [
            ("useful", one.useful),
            ("replay", one.replay),
            ("recovery", one.recovery),
            ("checkpoints", one.overhead),
            ("queue", self.queue),
            ("people", self.people),
        ]


def goodput_of_run(run: Run) -> Goodput:
    """The figures of one run up to now; without shifts for an agent that runs elsewhere."""
    people = _people(Pause.objects.filter(run=run))
    return _summed(Shift.objects.filter(run=run), people)


def goodput_of_agent(agent: Agent, *, days: int) -> Goodput:
    """The figures of an agent's shifts and pauses that began in the last `days`."""
    since = clock.now() - timedelta(days=days)
    pauses = Pause.objects.filter(run__agent=agent, created_at__gte=since)
    return _summed(Shift.objects.filter(agent=agent, began_at__gte=since), _people(pauses))


def spent_by_agent(agents: Iterable[uuid.UUID], *, days: int) -> dict[uuid.UUID, Spent]:
    """The times of the shifts of these agents that began in the last `days`, summed; idle ones left out."""
    since = clock.now() - timedelta(days=days)
    rows = Shift.objects.filter(agent__in=list(agents), began_at__gte=since).order_by().values("agent_id")
    # Any: the type checker knows no columns that are named by a mapping.
    sums: Any = rows.annotate(**{f"all_{name}": _SUMS[f"all_{name}"] for name in TIMES})
    found: dict[uuid.UUID, Spent] = {}
    for row in sums:
        times: dict[str, Any] = {name: (row[f"all_{name}"] or 0) / MICRO for name in TIMES}
        found[row["agent_id"]] = Spent(**times)
    return found


def spared_from_zero(run: Run) -> Spent:
    """What the run would have done again if each loss had sent it back to its beginning: `replay` and `paid`."""
    by_branch: dict[uuid.UUID, list[tuple[Spent, bool]]] = defaultdict(list)
    for shift in Shift.objects.filter(run=run).order_by("id"):
        lost = shift.ending in {Shift.Ending.LOST, Shift.Ending.FAILED}
        by_branch[shift.branch_id].append((spent_of(shift), lost))
    return sum((from_zero(shifts) for shifts in by_branch.values()), Spent())


def workers(*, seconds: int) -> WorkerTime:
    """What the workers did in the last `seconds`."""
    now = clock.now()
    since = now - timedelta(seconds=seconds)
    by_owner: dict[str, list[Interval]] = defaultdict(list)
    queued: list[Interval] = []
    rows = Shift.objects.filter(Q(ended_at__isnull=True) | Q(ended_at__gte=since), seen_at__gte=since)
    for owner, began, seen, ended, queue in rows.values_list(
        "owner", "began_at", "seen_at", "ended_at", "queue_us"
    ):
        by_owner[owner].append((began.timestamp(), (ended or seen).timestamp()))
        queued.append((began.timestamp() - queue / MICRO, began.timestamp()))
    return worker_time(by_owner.values(), queued, (since.timestamp(), now.timestamp()))


def _summed(shifts: QuerySet[Shift], people: float) -> Goodput:
    found = {name: value or 0 for name, value in shifts.aggregate(**_SUMS).items()}
    times = {name: found[f"all_{name}"] / MICRO for name in TIMES}
    spent = Spent(**times, saves=found["all_saves"], paid=found["all_paid"], spared=found["all_spared"])
    returns = found["returns"]
    return Goodput(
        spent=spent,
        people=people,
        queue=found["all_queue"] / MICRO,
        shifts=found["shifts"],
        losses=found["losses"],
        latency=found["waited"] / MICRO / returns if returns else None,
        longest=found["longest"] / MICRO if returns else None,
    )


def _people(pauses: QuerySet[Pause]) -> float:
    """How long each run waited for people; branches of one run that waited together count once."""
    by_run: dict[uuid.UUID, list[Interval]] = defaultdict(list)
    now = clock.now()
    rows: Iterable[tuple[uuid.UUID, datetime, datetime | None]] = (
        pauses.filter(settled_at_once=False)
        .order_by("-created_at")
        .values_list("run_id", "created_at", "settled_at")[:MOST_PAUSES]
    )
    for run_id, created, settled in rows:
        by_run[run_id].append((created.timestamp(), (settled or now).timestamp()))
    return sum(length(waits) for waits in by_run.values())
