"""What an agent is told in the answer to a save, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reviewhub.budgets import queries
from reviewhub.budgets.models import FieldBudget
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of, call, policy
from tests.shared import shared

pytestmark = pytest.mark.django_db(transaction=True)
HEAVY = {"doc": "y" * 398, "n": 1}
SIZE = {"field": "doc", "why": "size", "bytes": 400, "limit": 300, "share": 97}


@pytest.fixture(autouse=True)
def _small(settings: Any) -> Iterator[None]:
    settings.BUDGET_FIELD_BYTES, settings.BUDGET_STEP_BYTES = 300, 200
    queries._known.clear()
    yield
    queries._known.clear()


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def save(agent: AgentHttp, run: str, *, key: str = "", **body: Any) -> Any:
    return agent.post(f"/runs/{run}/checkpoints", body, key=key).ok(201)


def test_the_answer_to_a_save_warns_and_the_state_is_saved(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"doc": "small"})
    assert "warnings" not in first
    second = save(agent, run, state=HEAVY)
    assert second["warnings"] == [
        {"field": "doc", "why": "growth", "bytes": 393, "limit": 200, "share": 97},
        SIZE,
    ]
    hints = {"unchanged": ["doc"], "changed": {"n": 2}, "parent": second["id"], "parent_hash": second["hash"]}
    third = save(agent, run, **hints)
    assert third["warnings"] == [SIZE]
    assert "warnings" not in agent.get(f"/checkpoints/{third['id']}").ok(200)
    assert save(agent, run, state={"doc": "small"}).get("warnings") is None


def test_a_first_state_has_grown_from_nothing_that_counts(agent: AgentHttp) -> None:
    assert save(agent, agent.run()["id"], state=HEAVY)["warnings"] == [SIZE]


def test_a_repeated_save_is_the_same_one_without_warnings(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state=HEAVY, key="k1")
    again = save(agent, run, state=HEAVY, key="k1")
    assert first.pop("warnings") == [SIZE]
    assert again == first


def test_pause_observation_and_outcome_warn_too(cast: Cast, agent: AgentHttp) -> None:
    run = agent.run()["id"]
    agent.put("/tools/refund", {"effect": "read", "schema": {"type": "object"}}).ok(200, 201)
    policy(cast.support, {"name": "All", "tool": "*", "action": "allow"})
    assert Tool.objects.get().registered_at
    paused = agent.pause(run, call(), checkpoint={"state": HEAVY}).ok(201)
    assert paused["warnings"] == [SIZE]
    assert "warnings" not in agent.get(f"/pauses/{paused['id']}").ok(200)
    (one,) = paused["tool_calls"]
    agent.consume(one).ok(200)
    ended = agent.outcome(one, checkpoint={"state": HEAVY | {"n": 2}}).ok(200)
    assert ended["warnings"] == [SIZE]
    assert "warnings" not in agent.outcome(one, checkpoint={"state": HEAVY | {"n": 2}}).ok(200)
    told = [call(call_id="c2") | {"outcome": {"status": "succeeded"}}]
    body = {"tool_calls": told, "checkpoint": {"state": HEAVY}}
    assert agent.post(f"/runs/{run}/observations", body).ok(201)["warnings"] == [SIZE]
    assert "warnings" not in agent.post(f"/runs/{run}/observations", {"tool_calls": told}).ok(201)


def test_the_budget_that_an_admin_set_counts_from_the_next_save(cast: Cast, agent: AgentHttp) -> None:
    run = agent.run()
    alice = Client()
    alice.force_login(cast.alice.person)
    (row,) = cast.workspace.agents.filter(name=run["agent"])
    where = f"/northwind/agents/{row.pk}/budget/set"
    assert save(agent, run["id"], state=HEAVY)["warnings"] == [SIZE]
    alice.post(where, {"field_bytes": "1000", "step_bytes": "0", "fields": "n = 0"})
    assert "warnings" not in save(agent, run["id"], state=HEAVY)
    alice.post(where, {"field_bytes": "0", "step_bytes": "0", "fields": "doc = 399"})
    assert save(agent, run["id"], state=HEAVY)["warnings"] == [SIZE | {"limit": 399}]


def test_the_budget_of_the_states_own_schema_counts(cast: Cast, agent: AgentHttp) -> None:
    run = agent.run()
    (row,) = cast.workspace.agents.filter(name=run["agent"])
    agent.put("/states/refund/1", {"schema": {"type": "object"}}).ok(200, 201)
    FieldBudget.objects.create(
        workspace=cast.workspace, agent=row, schema_name="refund", field_bytes=390, step_bytes=0
    )
    named = {"state_schema": {"name": "refund", "version": 1}}
    saved = save(agent, run["id"], state=HEAVY, **named)
    assert saved["warnings"] == [SIZE | {"limit": 390}]
    shown = agent.get(f"/runs/{run['id']}/budget").ok(200)
    assert shown["warnings"] == [SIZE | {"limit": 390}]
    assert save(agent, run["id"], state=HEAVY)["warnings"] == [SIZE]


def test_a_save_by_hints_asks_the_database_no_more_often_for_it(agent: AgentHttp, settings: Any) -> None:
    run = agent.run()["id"]
    head = save(agent, run, state=HEAVY)

    def cost(n: int) -> int:
        nonlocal head
        hints = {"unchanged": ["doc"], "changed": {"n": n}, "parent": head["id"], "parent_hash": head["hash"]}
        with CaptureQueriesContext(connection) as seen:
            head = save(agent, run, **hints)
        assert not [one for one in seen if "budget" in one["sql"]]
        return len(seen)

    warned = cost(2)
    assert head["warnings"]
    settings.BUDGET_FIELD_BYTES = settings.BUDGET_STEP_BYTES = 0
    assert cost(3) == warned
    assert "warnings" not in head
