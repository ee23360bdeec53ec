"""Quantiles from sketches, beside numpy's; streaks joined, beside streaks counted at once; what is too quick."""

from __future__ import annotations

import sys
from itertools import groupby

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as some

from reviewhub.insights.rubber import is_quick, seconds_needed
from reviewhub.insights.sketch import ERROR, bucket, middle, quantiles, sketch
from reviewhub.insights.streaks import joined, streak

SHARES = (0.0, 0.05, 0.5, 0.9, 0.95, 0.99, 1.0)
TIMES = some.lists(some.floats(1, 3e10), min_size=1, max_size=60)


@given(some.lists(TIMES, min_size=1, max_size=5))
def test_quantiles_of_any_days_are_numpys_within_one_percent(days: list[list[float]]) -> None:
    found = quantiles([sketch(day) for day in days], SHARES)
    right = numpy.quantile([time for day in days for time in day], SHARES)
    assert found == pytest.approx(list(right), rel=ERROR * 1.001)


def test_quantiles_of_many_times_are_numpys_within_one_percent() -> None:
    many = numpy.random.default_rng(7).lognormal(12, 1.6, 200_000)
    found = quantiles([sketch(part) for part in numpy.array_split(many, 40)], SHARES)
    assert found == pytest.approx(list(numpy.quantile(many, SHARES)), rel=ERROR * 1.001)


def test_nothing_has_no_quantiles() -> None:
    assert quantiles([], SHARES) is None
    assert quantiles([b"", sketch([])], SHARES) is None


@pytest.mark.parametrize("time", [-5, 0, 1e-9, 1])
def test_what_took_no_time_stands_in_the_first_bucket(time: float) -> None:
    assert bucket(time) == 0
    assert middle(0) == pytest.approx(1, rel=ERROR)


def test_the_longest_time_has_a_bucket() -> None:
    assert bucket(sys.float_info.max) <= 0xFFFF


@given(some.lists(some.lists(some.booleans(), max_size=8), max_size=6))
def test_streaks_of_days_join_to_those_of_all(days: list[list[bool]]) -> None:
    found = joined((one.votes, one.first, one.longest, one.last) for one in map(streak, days))
    votes = [vote for day in days for vote in day]
    runs = [(yes, len(list(many))) for yes, many in groupby(votes)]
    assert found.votes == len(votes)
    assert found.longest == max((many for yes, many in runs if yes), default=0)
    assert found.first == (runs[0][1] if runs and runs[0][0] else 0)
    assert found.last == (runs[-1][1] if runs and runs[-1][0] else 0)


@pytest.mark.parametrize(
    ("seconds", "characters", "quick"),
    [(1.9, 0, True), (2.0, 0, False), (5.9, 300, True), (6.0, 300, False), (41.0, 3000, True), (42.0, 90_000, False)],
)  # fmt: skip
def test_quick_is_sooner_than_it_can_be_read(seconds: float, characters: int, quick: bool) -> None:
    assert is_quick(seconds, characters) is quick
    assert seconds_needed(0) == 2.0
