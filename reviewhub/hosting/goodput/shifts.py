"""Shifts begin, are written down and end; one that a dead worker left is closed by the next worker of its branch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from django.db.models import Max

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core import clock
from reviewhub.core.clock import DbNow
from reviewhub.hosting.goodput.meter import Meter
from reviewhub.hosting.goodput.rules import Spent, died
from reviewhub.hosting.models import Record, Shift
from reviewhub.resumptions.claim import Claimed
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import Pause, ToolCall

MICRO = 1_000_000
TIMES = ("useful", "replay", "recovery", "saving", "ledger")


@contextmanager
def on_shift(meter: Meter) -> Iterator[None]:
    """Around what is done in a shift that began. A process that dies in it leaves it open."""
    try:
        yield
    except Exception:
        meter.failed = True
        _end(meter)
        raise
    _end(meter)


def spent_of(shift: Shift) -> Spent:
    """The figures of a row."""
    times = {name: getattr(shift, f"{name}_us") / MICRO for name in TIMES}
    return Spent(**times, saves=shift.saves, paid=shift.paid, spared=shift.spared)


def _columns(spent: Spent) -> dict[str, int]:
    found = asdict(spent)
    return {f"{name}_us" if name in TIMES else name: _whole(name, value) for name, value in found.items()}


def _whole(name: str, value: float) -> int:
    return round(value * MICRO) if name in TIMES else int(value)


def begin(claimed: Claimed) -> Meter:
    """A shift with a branch, in the transaction that claims it: the row is there before anything runs."""
    branch, waking, now = claimed.branch, claimed.resumption, claimed.at
    last = Shift.objects.filter(branch=branch).order_by("-id").first()
    lost_at = _close_lost(last) if last is not None and last.ended_at is None else None
    # A waking that failed is due later: that pause is recovery, what comes after it is the queue.
    failed_at = last.ended_at if last is not None and last.ending == Shift.Ending.FAILED else None
    recovery = _seconds(now, lost_at) if lost_at else _seconds(waking.due_at, failed_at)
    queue = 0.0 if lost_at else _seconds(now, waking.due_at)
    shift = Shift.objects.create(
        workspace_id=branch.workspace_id,
        agent_id=branch.run.agent_id,
        run_id=branch.run_id,
        branch=branch,
        resumption=waking,
        owner=waking.lease_owner,
        began_at=now,
        seen_at=now,
        queue_us=round(queue * MICRO),
        recovery_us=round(recovery * MICRO),
        after_loss=lost_at is not None,
    )
    return Meter(shift, recovery=recovery, write=_write)


def _write(shift: Shift, spent: Spent) -> None:
    open_ = Shift.objects.filter(pk=shift.pk, ended_at__isnull=True)
    open_.update(**_columns(spent), seen_at=DbNow())


def _end(meter: Meter) -> None:
    """Closes the shift, unless the next worker has: whoever lost the branch does not say what became of the time."""
    ending = Shift.Ending.FAILED if meter.failed else meter.ending
    open_ = Shift.objects.filter(pk=meter.shift.pk, ended_at__isnull=True)
    open_.update(**_columns(meter.spent()), ended_at=DbNow(), ending=ending)


def _close_lost(shift: Shift) -> datetime:
    """When the dead worker was last seen alive."""
    kept = _kept_until(shift.branch, shift.began_at)
    spent, last = died(
        spent_of(shift),
        begun=shift.began_at.timestamp(),
        seen=shift.seen_at.timestamp(),
        kept_until=kept.timestamp() if kept else 0.0,
    )
    ended = datetime.fromtimestamp(last, tz=UTC)
    open_ = Shift.objects.filter(pk=shift.pk, ended_at__isnull=True)
    open_.update(**_columns(spent), ended_at=ended, ending=Shift.Ending.LOST)
    return ended


def _kept_until(branch: Branch, since: datetime) -> datetime | None:
    """The newest row of a branch: a checkpoint, a result, a stop, the start or the end of a call.

    What a worker whose clock is wrong has dated into the future says nothing.
    """
    calls = ToolCall.objects.filter(branch=branch).aggregate(begun=Max("started_at"), ended=Max("ended_at"))
    found = [
        Checkpoint.objects.filter(branch=branch, created_at__gte=since).aggregate(at=Max("created_at"))["at"],
        Record.objects.filter(branch=branch, created_at__gte=since).aggregate(at=Max("created_at"))["at"],
        Pause.objects.filter(branch=branch, created_at__gte=since).aggregate(at=Max("created_at"))["at"],
        calls["begun"],
        calls["ended"],
    ]
    now = clock.now()
    return max((at for at in found if at is not None and since <= at <= now), default=None)


def _seconds(later: datetime, earlier: datetime | None) -> float:
    return max((later - earlier) / timedelta(seconds=1), 0.0) if earlier is not None else 0.0
