"""How often to save: formulas against a simulation, and the advice on the author's boundaries."""

from __future__ import annotations

import pytest

from benchmarks.interval import CASES, simulated
from reviewhub.hosting.goodput.advisor import advise, cost, daly, young
from reviewhub.hosting.goodput.counsel import counsel
from reviewhub.hosting.goodput.queries import Goodput
from reviewhub.hosting.goodput.rules import Spent


@pytest.mark.parametrize(
    ("save", "mtbf", "wanted"), [(2.0, 100.0, 20.0), (0.5, 3600.0, 60.0), (0.001, 20.0, 0.2)]
)
def test_young(save: float, mtbf: float, wanted: float) -> None:
    assert young(save=save, mtbf=mtbf) == pytest.approx(wanted)


def test_daly_is_young_for_quick_saves_and_never_more_than_the_time_between_failures() -> None:
    assert daly(save=1e-6, mtbf=3600.0) == pytest.approx(young(save=1e-6, mtbf=3600.0), rel=1e-3)
    assert daly(save=500.0, mtbf=100.0) == 100.0


@pytest.mark.parametrize(("step", "save", "mtbf", "restart"), CASES)
@pytest.mark.parametrize("part", [0.5, 1.0, 3.0])
def test_the_formula_says_what_the_simulation_finds(
    step: float, save: float, mtbf: float, restart: float, part: float
) -> None:
    interval = part * daly(save=save, mtbf=mtbf)
    seen = simulated(interval, save=save, mtbf=mtbf, restart=restart, failures=20_000, seed=3)
    said = cost(interval, save=save, mtbf=mtbf, restart=restart)
    # The simulation is cut off at a failure, and random.
    assert (1 + seen) == pytest.approx(1 + said, rel=0.02)


@pytest.mark.parametrize(("save", "mtbf"), [(0.01, 60.0), (1.0, 600.0), (5.0, 300.0)])
def test_no_interval_is_much_cheaper_than_dalys(save: float, mtbf: float) -> None:
    best = daly(save=save, mtbf=mtbf)
    at_best = cost(best, save=save, mtbf=mtbf)
    for part in (0.25, 0.5, 0.8, 1.25, 2, 4):
        assert at_best <= cost(best * part, save=save, mtbf=mtbf) * 1.001


# step, save, between failures → every how many steps, and whether the best is within a step
ADVICE = [
    (0.2, 0.001, 60.0, 2, False),
    (0.2, 0.01, 600.0, 17, False),
    (30.0, 5.0, 600.0, 3, False),
    (60.0, 0.01, 3600.0, 1, True),
    (1.0, 1e-9, 10.0, 1, True),
    (1e-6, 1.0, 1e6, 1000, False),
]


@pytest.mark.parametrize(("step", "save", "mtbf", "steps", "is_finer"), ADVICE)
def test_the_advice(step: float, save: float, mtbf: float, steps: int, is_finer: bool) -> None:
    found = advise(step=step, save=save, mtbf=mtbf)
    assert (found.best.steps, found.is_finer) == (steps, is_finer)
    assert found.gain >= 0
    assert found.best.redone == found.best.interval / 2


def test_times_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        advise(step=0, save=1, mtbf=1)


def test_hopeless_numbers_stay_numbers() -> None:
    assert cost(1e9, save=1.0, mtbf=1e-3, restart=1e9) > 1e6


def goodput(spent: Spent, losses: int = 0) -> Goodput:
    return Goodput(spent=spent, people=0, queue=0, shifts=1, losses=losses, latency=None, longest=None)


def test_an_agent_that_saved_nothing_gets_no_advice() -> None:
    assert counsel(goodput(Spent(useful=5))) is None
    assert counsel(goodput(Spent())) is None


def test_without_a_failure_the_time_seen_stands_for_it() -> None:
    spent = Spent(useful=99.0, saving=1.0, saves=100)
    found = counsel(goodput(spent))
    assert found is not None
    assert found.is_guess
    assert found.advice.mtbf == 100.0
    assert found.advice.now.interval == pytest.approx(0.99)
    failing = counsel(goodput(spent, losses=4))
    assert failing is not None
    assert not failing.is_guess
    assert failing.advice.mtbf == 25.0
