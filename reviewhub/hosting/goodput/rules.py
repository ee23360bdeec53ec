"""From what a worker saw to figures. Pure; all times are seconds.

Time is useful once what it led to is kept: a save, a recorded result, an outcome. What a worker did after the last such
moment is lost when it dies, and will be done again, so it counts as replay and not as useful.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import pairwise
from typing import Self

Interval = tuple[float, float]


class Seen(StrEnum):
    """What a call to the store was."""

    LOAD = "load"
    FOUND = "found"
    MISSED = "missed"
    SAVE = "save"
    LEDGER = "ledger"


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a worker did with its time with one branch.

    recovery: from the last sign of life of a worker that died until this one came, and loading the state.
    replay: finding again what was recorded, and work that was lost. saving, ledger: writing checkpoints, and writing
    down calls and results. `paid` and `spared` are tokens of model answers: asked for, and found again instead.
    """

    useful: float = 0.0
    replay: float = 0.0
    recovery: float = 0.0
    saving: float = 0.0
    ledger: float = 0.0
    saves: int = 0
    paid: int = 0
    spared: int = 0

    def __add__(self, other: Self) -> Self:
        both = {one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)}
        return type(self)(**both)

    @property
    def overhead(self) -> float:
        """What checkpoints cost: everything that was written down."""
        return self.saving + self.ledger

    @property
    def progress(self) -> float | None:
        """Forward progress: the useful share, 0 to 1; None when there was no time at all."""
        whole = self.useful + self.replay + self.recovery + self.overhead
        return self.useful / whole if whole else None


class Tally:
    """Adds up one shift from the calls to the store, in the order in which they ended.

    Between them the agent's own code ran: finding things again as long as a resumed shift finds records, working
    from the first thing on that is new.
    """

    def __init__(self, at: float, *, recovery: float = 0.0) -> None:
        self._mark = at
        self._kept = Spent(recovery=recovery)
        self._open = 0.0
        self._again = False

    def add(self, seen: Seen, begun: float, ended: float, *, made: float = 0.0) -> None:
        """One call that began and ended at these times; so many seconds before it went into the text of a state."""
        begun = max(begun - made, min(begun, self._mark))
        code, took = max(begun - self._mark, 0.0), max(ended - begun, 0.0)
        self._mark = max(ended, self._mark)
        if seen is Seen.LOAD:
            self._again = True
            self._kept += Spent(recovery=code + took)
        elif seen is Seen.FOUND and self._again:
            self._kept += Spent(replay=code + took)
        else:
            self._work(seen, code, took)

    def aside(self, *, made: float = 0.0) -> None:
        """A save by another thread: no time of this one but what went into the text of the state."""
        self._kept += Spent(saves=1, saving=made)
        self._open -= made

    def tokens(self, *, paid: int = 0, spared: int = 0) -> None:
        """A model's answer was recorded, or found."""
        self._kept += Spent(paid=paid, spared=spared)

    def spent(self, at: float, *, kept: bool) -> Spent:
        """The figures at this time; with what is not kept yet as useful, or (the shift failed) as lost."""
        rest = self._open + max(at - self._mark, 0.0)
        return self._kept + (Spent(useful=rest) if kept else Spent(replay=rest))

    def _work(self, seen: Seen, code: float, took: float) -> None:
        self._again = False
        self._open += code
        if seen is Seen.SAVE:
            self._kept += Spent(saving=took, saves=1)
        else:
            self._kept += Spent(ledger=took)
        if seen in {Seen.SAVE, Seen.LEDGER}:
            self._kept += Spent(useful=self._open)
            self._open = 0.0


def died(spent: Spent, *, begun: float, seen: float, kept_until: float) -> tuple[Spent, float]:
    """What a worker that died had done, and when it was last alive.

    Args:
        spent: as it was written down at `seen`, with what was not kept then as useful.
        kept_until: when the newest row was written that its work led to.
    """
    last = max(begun, seen, kept_until)
    more = max(kept_until - max(seen, begun), 0.0)
    lost = min(max(last - max(kept_until, begun), 0.0), spent.useful + more)
    return spent + Spent(useful=more - lost, replay=lost), last


def from_zero(shifts: Sequence[tuple[Spent, bool]]) -> Spent:
    """What a run would have done again if each loss had sent it back to its beginning.

    Args:
        shifts: those of one branch in order, each with whether its work was lost.
    """
    again, before = Spent(), Spent()
    for spent, lost in shifts:
        before += Spent(useful=spent.useful, paid=spent.paid)
        if lost:
            again += Spent(replay=before.useful, paid=before.paid)
    return again


def together(intervals: Iterable[Interval]) -> list[Interval]:
    """The same time with overlaps joined, in order."""
    joined: list[Interval] = []
    for begun, ended in sorted(intervals):
        if joined and begun <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(ended, joined[-1][1]))
        elif ended > begun:
            joined.append((begun, ended))
    return joined


def length(intervals: Iterable[Interval]) -> float:
    """How long they are, overlaps counted once."""
    return sum(ended - begun for begun, ended in together(intervals))


@dataclass(frozen=True, kw_only=True)
class WorkerTime:
    """What workers did: had a branch, had none though one waited, had none because none waited."""

    useful: float = 0.0
    waiting: float = 0.0
    starved: float = 0.0


def worker_time(
    shifts: Iterable[Sequence[Interval]], queued: Iterable[Interval], period: Interval
) -> WorkerTime:
    """Where the workers' time went in a period, each from its first shift in it to the end of its last.

    Args:
        shifts: for each worker, when it had a branch.
        queued: when a waking waited for a worker.
    """
    waits = together(queued)
    useful = waiting = starved = 0.0
    for own in shifts:
        busy = together(_within(own, period))
        useful += length(busy)
        for (_, left), (taken, _) in pairwise(busy):
            waited = length(_within(waits, (left, taken)))
            waiting += waited
            starved += taken - left - waited
    return WorkerTime(useful=useful, waiting=waiting, starved=starved)


def _within(intervals: Iterable[Interval], period: Interval) -> list[Interval]:
    cut = [(max(begun, period[0]), min(ended, period[1])) for begun, ended in intervals]
    return [(begun, ended) for begun, ended in cut if ended > begun]
