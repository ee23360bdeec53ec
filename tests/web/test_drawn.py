"""Calls that ran without waiting and were drawn for a later look: the run page says so, and why."""

from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.driver import PersonHttp, agent_of, call, policy

pytestmark = pytest.mark.django_db


def observed(cast: Cast, *rules: dict[str, object]) -> str:
    """The run page, for Bob, of a run with one call that ran without asking."""
    agent = agent_of(cast.support)
    agent.put("/tools/refund", {"effect": "once"}).ok()
    policy(cast.support, *rules)
    run = agent.run()["id"]
    ran = {**call(), "outcome": {"status": "succeeded", "result": 1}}
    agent.post(f"/runs/{run}/observations", {"tool_calls": [ran]}).ok(200, 201)
    page = PersonHttp(cast.bob).client.get(f"/northwind/runs/{run}")
    assert page.status_code == 200
    return page.content.decode()


def test_what_should_have_waited_is_flagged_with_the_reason(cast: Cast) -> None:
    page = observed(cast, {"name": "Refunds wait", "tool": "refund", "action": "require"})
    assert "ran without approval" in page and "for a later look" in page
    assert "<b>Drawn for a later look, high severity.</b>" in page and "It ran without approval. " in page


def test_what_a_rule_marks_is_drawn_and_not_flagged(cast: Cast) -> None:
    page = observed(cast, {"name": "Glance", "tool": "refund", "action": "observe"})
    assert "<b>Drawn for a later look.</b>" in page
    assert "ran without approval" not in page.replace("It ran without approval", "")


def test_what_policy_lets_run_is_not_drawn(cast: Cast) -> None:
    page = observed(cast, {"name": "Free", "tool": "refund", "action": "allow"})
    assert "later look" not in page and "ran without approval" not in page
