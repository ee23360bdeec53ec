"""Blame and find in one walk: the same answers, and an honest end when it stops early."""

from __future__ import annotations

from typing import Any

import pytest
from reviewhub_agents import canonical

from reviewhub.checkpoints.blame import blame
from reviewhub.checkpoints.find import find
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.story import Story, story
from reviewhub.checkpoints.walk import Rest
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import BOB, put
from tests.shared import shared

STATES: list[dict[str, Any]] = [{"n": n} for n in (1, 2, 2)] + [{}] + [{"n": n} for n in (2, 3, 3)]


@shared
def way(branch: Branch) -> list[Checkpoint]:
    """Seven steps, the last two of them after a fork from the fifth."""
    rows = [put(branch, canonical.dumps(state)) for state in STATES[:5]]
    made, first = fork(checkpoint=rows[-1], name=None, changes=[], reason="again", actor=BOB)
    return [*rows, first, *(put(made, canonical.dumps(state)) for state in STATES[5:])]


def told(way: list[Checkpoint], at: int, value: Any, most: int = 99) -> Story:
    text = None if value is None else canonical.dumps(value)
    return story(head=way[-1], checkpoint=way[at], path="/n", value=text, most=most)


@pytest.mark.parametrize("at", range(8))
@pytest.mark.parametrize("value", [1, 2, 3, 4])
def test_the_same_as_two_walks(way: list[Checkpoint], at: int, value: int) -> None:
    seen = told(way, at, value)
    found = find(checkpoint=way[-1], path="/n", value=canonical.Number(str(value)))
    assert (seen.introduced, seen.lost) == (found.introduced, found.lost)
    assert seen.last == blame(checkpoint=way[at], path="/n").checkpoint
    assert (seen.rest, seen.is_older) == (None, False)


@pytest.mark.parametrize(
    ("at", "value", "most", "last", "introduced", "lost", "is_older"),
    [
        (7, 3, 3, 6, 6, None, False),
        (7, 3, 2, None, None, None, True),
        (7, 2, 4, 6, None, 6, True),
        (7, 1, 4, 6, None, None, False),
        (5, 2, 4, None, None, 6, True),
        (5, 2, 5, 4, 4, 6, False),
        (0, 2, 3, None, None, 6, True),
    ],
)
def test_it_says_what_it_did_not_look_at(
    way: list[Checkpoint],
    at: int,
    value: int,
    most: int,
    last: int | None,
    introduced: int | None,
    lost: int | None,
    is_older: bool,
) -> None:
    seen = told(way, at, value, most)
    rows = [None if one is None else way.index(one) for one in (seen.last, seen.introduced, seen.lost)]
    assert (rows, seen.is_older) == ([last, introduced, lost], is_older)
    assert seen.rest == Rest(way[-most], most, len(way))
