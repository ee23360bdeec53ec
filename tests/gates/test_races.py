"""Every race, twice; `make chaos` plays them two hundred times."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import family_races
from tests.cast import make_cast
from tests.driver import AgentHttp, agent_of
from tests.races import RACES, Scene, scene

ROUNDS = 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
def test_one_winner(race: Callable[[Scene], None]) -> None:
    at = scene(make_cast())
    for _ in range(ROUNDS):
        race(at)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("race", family_races.RACES, ids=lambda race: race.__name__)
def test_no_family_is_left_alone(race: Callable[[AgentHttp], None]) -> None:
    agent = agent_of(make_cast().support)
    for _ in range(ROUNDS):
        race(agent)
