"""Every race, many rounds."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests import family_races
from tests.cast import make_cast
from tests.chaos.figures import note
from tests.driver import AgentHttp, agent_of
from tests.races import RACES, Scene, decide_decide, scene

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "200"))
# Of the race that everything is about, an approval and a rejection at once.
DECISIONS = int(os.environ.get("CHAOS_DECISIONS", ROUNDS))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
def test_one_winner(race: Callable[[Scene], None]) -> None:
    at = scene(make_cast())
    rounds = DECISIONS if race is decide_decide else ROUNDS
    for _ in range(rounds):
        race(at)
    note("race", race=race.__name__, rounds=rounds)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("race", family_races.RACES, ids=lambda race: race.__name__)
def test_no_family_is_left_alone(race: Callable[[AgentHttp], None]) -> None:
    agent = agent_of(make_cast().support)
    for _ in range(ROUNDS):
        race(agent)
    note("race", race=race.__name__, rounds=ROUNDS)
