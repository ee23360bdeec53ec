"""How often a pause asks the database, and that its answer says what reading it anew would say."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviewhub.accounts.models import Team
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of, call, policy

pytestmark = pytest.mark.django_db

HELD, AT_ONCE = 45, 35
"""Statements of a pause with one call, as the target says; BEGIN and COMMIT count."""
READS = {"name": "Reads", "tool": "*.get", "action": "allow"}
LOOKS = {"name": "Looks", "tool": "*.look", "action": "observe"}
DROPS = {"name": "Drops", "tool": "*.drop", "action": "deny"}
REST = {"name": "Rest", "tool": "*", "action": "require"}


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    found = agent_of(cast.support)
    for name, effect in (("orders.get", "read"), ("orders.look", "read"), ("refund", "once")):
        found.put(f"/tools/{name}", {"effect": effect, "schema": {"type": "object"}}).ok()
    policy(cast.support, READS, LOOKS, DROPS, REST)
    return found


def asked(agent: AgentHttp, *calls: dict[str, Any]) -> list[str]:
    """The statements of a pause, after one that has read what is read once."""
    agent.pause(agent.run()["id"], *calls).ok(201)
    run = agent.run()["id"]
    with CaptureQueriesContext(connection) as found:
        agent.pause(run, *calls).ok(201)
    return [one["sql"] for one in found.captured_queries]


@pytest.mark.parametrize(("tool", "most"), [("refund", HELD), ("orders.get", AT_ONCE)])
def test_a_pause_asks_little(agent: AgentHttp, tool: str, most: int) -> None:
    statements = asked(agent, call(tool))
    assert len(statements) <= most, "\n".join(one[:200] for one in statements)


def test_the_number_of_rules_and_teams_is_all_one(agent: AgentHttp, cast: Cast) -> None:
    before = len(asked(agent, call("refund")))
    Team.objects.bulk_create(
        Team(workspace=cast.workspace, name=f"T{at}", folded=f"t{at}") for at in range(20)
    )
    more = [{"name": f"R{at}", "tool": f"t{at}.*", "action": "require", "team": f"T{at}"} for at in range(20)]
    policy(cast.support, READS, *more, REST)
    assert len(asked(agent, call("refund"))) == before


def test_another_call_asks_only_for_its_own_rows(agent: AgentHttp) -> None:
    one, three = (
        len(asked(agent, *[call("orders.get", call_id=f"c{at}") for at in range(calls)])) for calls in (1, 3)
    )
    assert three <= one + 2 * 2, "an event and what it says, for each call"


@pytest.mark.parametrize(
    "tools",
    [
        ["refund"],
        ["orders.get"],
        ["orders.drop"],
        ["orders.look"],
        ["refund", "orders.get", "orders.drop", "never.seen"],
    ],
    ids="-".join,
)
def test_the_answer_is_what_is_read_afterwards(agent: AgentHttp, tools: list[str]) -> None:
    calls = [call(tool, call_id=f"c{at}") for at, tool in enumerate(tools)]
    told = agent.pause(agent.run()["id"], *calls).ok(201)
    assert told == agent.get(f"/pauses/{told['id']}").ok()
