"""Rules that nobody could sign are warned of before they are published."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.policies.model import Policy, Rule
from reviewhub.policies.staffing import dead_ends
from tests.cast import Cast

EYES: dict[str, Any] = {"name": "Eyes", "tool": "refund", "action": "require", "four_eyes": True}


@pytest.mark.parametrize(
    ("fields", "hands", "said"),
    [
        ({}, (), "the one person of Support who may sign calls of"),
        ({}, ("bob",), "nobody could sign calls of"),
        ({"approvals": 2}, ("bob",), ""),  # two people are not there at all: another warning
        ({"four_eyes": False}, ("bob",), ""),
        ({"tool": "other"}, ("bob",), ""),
        ({"agent": "another"}, ("bob",), ""),
        ({"team": "Finance"}, ("bob",), "the one person of Finance"),
        ({"team": "Finance"}, ("dave",), "it has nobody"),
    ],
)
def test_four_eyes_without_a_second_pair(
    cast: Cast, agent: Agent, fields: dict[str, Any], hands: tuple[str, ...], said: str
) -> None:
    agent.keys.update(made_by=None)
    agent.owner = cast.people[hands[0]] if hands else None
    agent.save()
    policy = Policy(guardrails=(Rule(**{**EYES, **fields}),))
    found = dead_ends(policy, cast.workspace.pk)
    assert [said in one.message for one in found] == ([True] if said else [])


def test_with_one_more_person_nothing_is_said(cast: Cast, agent: Agent) -> None:
    agent.keys.update(made_by=cast.bob)
    policy = Policy(rules=(Rule(**EYES),))
    assert [one.code for one in dead_ends(policy, cast.workspace.pk)] == ["four_eyes"]
    for one in (cast.dave, cast.alice):
        one.teams.add(cast.support)
    assert dead_ends(policy, cast.workspace.pk) == []
