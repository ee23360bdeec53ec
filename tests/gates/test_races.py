"""Every race, twice; `make chaos` plays them two hundred times."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cast import make_cast
from tests.races import RACES, Scene, scene

ROUNDS = 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
def test_one_winner(race: Callable[[Scene], None]) -> None:
    at = scene(make_cast())
    for _ in range(ROUNDS):
        race(at)
