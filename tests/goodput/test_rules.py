"""From what a worker saw to figures: tables."""

from __future__ import annotations

import pytest

from reviewhub.hosting.goodput.rules import (
    Interval,
    Seen,
    Spent,
    Tally,
    WorkerTime,
    died,
    from_zero,
    length,
    worker_time,
)

LOAD, FOUND, MISSED, SAVE, LEDGER = Seen

# What is seen (kind, begin, end), how it ended at which time, and the figures.
SHIFTS = [
    ("nothing happened", [], (2, True), Spent(useful=2)),
    ("what failed is lost", [], (2, False), Spent(replay=2)),
    ("a step and its save", [(SAVE, 3, 4)], (4, True), Spent(useful=3, saving=1, saves=1)),
    (
        "loading is recovery, also what comes before it",
        [(LOAD, 1, 3), (SAVE, 5, 6)],
        (6, True),
        Spent(recovery=3, useful=2, saving=1, saves=1),
    ),
    (
        "found again until something is new",
        [(LOAD, 0, 1), (FOUND, 2, 3), (FOUND, 3, 4), (MISSED, 5, 6), (LEDGER, 8, 9), (SAVE, 9, 10)],
        (10, True),
        Spent(recovery=1, replay=3, useful=3, ledger=2, saving=1, saves=1),
    ),
    (
        "what is found after something new was no replay",
        [(LOAD, 0, 1), (LEDGER, 2, 3), (FOUND, 4, 5), (SAVE, 6, 7)],
        (7, True),
        Spent(recovery=1, useful=3, ledger=2, saving=1, saves=1),
    ),
    (
        "a look-up secures nothing: what follows the last thing written is lost",
        [(SAVE, 1, 2), (MISSED, 4, 5)],
        (6, False),
        Spent(useful=1, saving=1, saves=1, ledger=1, replay=3),
    ),
    (
        "clocks that go back make no negative time",
        [(SAVE, 3, 4), (LEDGER, 2, 1)],
        (2, True),
        Spent(useful=3, saving=1, saves=1),
    ),
]


@pytest.mark.parametrize(("events", "end", "wanted"), [row[1:] for row in SHIFTS], ids=[r[0] for r in SHIFTS])
def test_a_shift(events: list[tuple[Seen, float, float]], end: tuple[float, bool], wanted: Spent) -> None:
    tally = Tally(0.0)
    for seen, begun, ended in events:
        tally.add(seen, begun, ended)
    assert tally.spent(end[0], kept=end[1]) == wanted


def test_the_time_that_goes_into_the_text_of_a_state_is_part_of_saving_it() -> None:
    tally = Tally(0.0)
    tally.add(SAVE, 5, 6, made=2)
    assert tally.spent(6, kept=True) == Spent(useful=3, saving=3, saves=1)
    tally.add(SAVE, 8, 9, made=4)  # Never what was told already.
    assert tally.spent(9, kept=True) == Spent(useful=3, saving=6, saves=2)
    tally.aside(made=2)
    tally.add(LEDGER, 14, 15)
    assert tally.spent(15, kept=True) == Spent(useful=6, saving=8, ledger=1, saves=3)


def test_tokens_and_the_recovery_before_it() -> None:
    tally = Tally(0.0, recovery=5.0)
    tally.tokens(spared=7)
    tally.tokens(paid=2)
    tally.aside()
    assert tally.spent(0.0, kept=True) == Spent(recovery=5.0, paid=2, spared=7, saves=1)


# What was written down last, begin, last heartbeat, newest row; what came of it and when it was last alive.
DEATHS = [
    ("died before anything", Spent(), 10, 10, 0, Spent(), 10),
    ("rows go on after the heartbeat", Spent(useful=5), 10, 15, 18, Spent(useful=8), 18),
    ("the heartbeat goes on after the rows", Spent(useful=5), 10, 15, 12, Spent(useful=2, replay=3), 15),
    ("nothing was kept", Spent(useful=5), 10, 15, 0, Spent(replay=5), 15),
    ("no more is lost than was done", Spent(useful=1, saving=4), 10, 15, 0, Spent(replay=1, saving=4), 15),
    ("no heartbeat yet", Spent(recovery=2), 10, 10, 14, Spent(recovery=2, useful=4), 14),
]


@pytest.mark.parametrize(
    ("spent", "begun", "seen", "kept_until", "wanted", "last"),
    [row[1:] for row in DEATHS],
    ids=[r[0] for r in DEATHS],
)
def test_a_death(
    spent: Spent, begun: float, seen: float, kept_until: float, wanted: Spent, last: float
) -> None:
    assert died(spent, begun=begun, seen=seen, kept_until=kept_until) == (wanted, last)


@pytest.mark.parametrize(
    ("spent", "wanted"),
    [
        (Spent(), None),
        (Spent(useful=3), 1.0),
        (Spent(useful=2, replay=1, recovery=1), 0.5),
        (Spent(useful=6, saving=1, ledger=1), 0.75),
        (Spent(replay=1), 0.0),
    ],
)
def test_forward_progress(spent: Spent, wanted: float | None) -> None:
    assert spent.progress == wanted


def test_from_zero_everything_before_each_loss_is_done_again() -> None:
    first, second, third = Spent(useful=10, paid=100), Spent(useful=5, paid=30), Spent(useful=1, paid=1)
    assert from_zero([(first, True), (second, True), (third, False)]) == Spent(replay=25, paid=230)
    assert from_zero([(first, False), (second, False)]) == Spent()


@pytest.mark.parametrize(
    ("intervals", "wanted"),
    [([], 0), ([(1, 1)], 0), ([(3, 2)], 0), ([(1, 3), (2, 5)], 4), ([(6, 7), (1, 2), (1, 2)], 2)],
)
def test_overlaps_count_once(intervals: list[Interval], wanted: float) -> None:
    assert length(intervals) == wanted


# Shifts by worker, when a waking waited, and what the workers did between 0 and 100.
WORKERS = [
    ("one shift has no gap", [[(10, 20)]], [], WorkerTime(useful=10)),
    ("idle because nothing waited", [[(10, 20), (30, 40)]], [], WorkerTime(useful=20, starved=10)),
    (
        "idle though one waited",
        [[(10, 20), (30, 40)]],
        [(26, 30)],
        WorkerTime(useful=20, waiting=4, starved=6),
    ),
    (
        "two workers, each for itself",
        [[(0, 10), (20, 30)], [(0, 10), (12, 30)]],
        [(5, 20)],
        WorkerTime(useful=48, waiting=12),
    ),
    ("outside of the period nothing counts", [[(-50, 5), (95, 200)]], [], WorkerTime(useful=10, starved=90)),
]


@pytest.mark.parametrize(
    ("shifts", "queued", "wanted"), [r[1:] for r in WORKERS], ids=[r[0] for r in WORKERS]
)
def test_workers(shifts: list[list[Interval]], queued: list[Interval], wanted: WorkerTime) -> None:
    assert worker_time(shifts, queued, (0, 100)) == wanted
