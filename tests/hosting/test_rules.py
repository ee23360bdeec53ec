"""When a failed attempt is made again: a table."""

from __future__ import annotations

import math

import pytest

from reviewhub.hosting.rules import LONGEST_PAUSE, LONGEST_WISH, pause_before_next


@pytest.mark.parametrize(
    ("failures", "draw", "asked", "seconds"),
    [
        (1, 0.0, None, 1.0),
        (1, 1.0, None, 2.0),
        (2, 0.0, None, 2.0),
        (4, 0.5, None, 12.0),
        (9, 1.0, None, LONGEST_PAUSE),
        (100_000, 1.0, None, LONGEST_PAUSE),
        (1, 0.0, 30.0, 30.0),
        (1, 1.0, 30.0, 33.0),
        (1, 0.0, 0.2, 1.0),
        (1, 0.0, 1e9, LONGEST_WISH),
        (1, 0.0, -5.0, 1.0),
        (1, 0.0, math.inf, 1.0),
        (1, 0.0, math.nan, 1.0),
    ],
)
def test_pause(failures: int, draw: float, asked: float | None, seconds: float) -> None:
    found = pause_before_next(failures=failures, draw=draw, asked=asked)
    assert found == pytest.approx(seconds)
