"""Every race, many rounds."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.cast import make_cast
from tests.races import RACES, Scene, scene

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "200"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
def test_one_winner(race: Callable[[Scene], None]) -> None:
    at = scene(make_cast())
    for _ in range(ROUNDS):
        race(at)
