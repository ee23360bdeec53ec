"""A backtest counts limits and standing approvals on both sides, as if they had been there all the time."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.insights.models import BacktestCall
from reviewhub.insights.queries import report
from reviewhub.insights.start_backtest import start_backtest
from reviewhub.insights.work_off import work_off
from reviewhub.policies.publish import publish
from reviewhub.standing.models import StandingApproval
from reviewhub.toolcalls.models import ToolCall
from tests.cast import ALICE, Cast, make_test_agent
from tests.insights.make import draft_of, known_tools, recorded

FREE = [{"name": "Free", "tool": "refund", "action": "allow"}]
LIMIT: dict[str, Any] = {
    "name": "A day",
    "tool": "refund",
    "sum_of": "amount",
    "most": 100,
    "window_seconds": 86400,
}


@pytest.fixture
def agent(cast: Cast) -> Agent:
    made = make_test_agent(cast.support)[0]
    known_tools(made, "refund")
    return made


def compared(cast: Cast, before: dict[str, Any], draft: dict[str, Any]) -> dict[str, int]:
    publish(workspace=cast.workspace, rules_text=json.dumps(before), note="why", base=0, actor=ALICE)
    kept = draft_of(cast, json.dumps(draft))
    test = start_backtest(workspace_id=cast.workspace.pk, draft_id=kept.pk, days=30, actor=ALICE)
    work_off(test.pk)
    found = report(kept)
    assert found is not None and found.backtest.state == "done"
    return {group.heading: group.count for group in found.groups}


def test_what_would_pass_a_limit_is_held_and_the_next_day_begins_anew(cast: Cast, agent: Agent) -> None:
    recorded(agent, "refund", 40, 60, 1, days_ago=5)
    recorded(agent, "refund", 90, days_ago=3)
    (failed,) = recorded(agent, "refund", 9, days_ago=3)
    ToolCall.objects.filter(pk=failed.pk).update(state="denied")
    recorded(agent, "refund", 11, days_ago=2.9)
    found = compared(cast, {"rules": FREE}, {"rules": FREE, "limits": [LIMIT]})
    # 40 + 60 fill the first day, so 1 is too much; 90 and 9 are taken when 11 comes, since the draft lets both run.
    assert found == {"held": 2}
    held = BacktestCall.objects.filter(heading="held").values_list("rule", "asks")
    assert set(held) == {("A day", "1 approval from Support")}


def test_a_limit_of_both_sides_changes_nothing(cast: Cast, agent: Agent) -> None:
    recorded(agent, "refund", 90, 20, 30, days_ago=5)
    both = {"rules": FREE, "limits": [{**LIMIT, "then": "deny"}]}
    assert compared(cast, both, both) == {}


def test_what_stood_then_lets_calls_run_on_both_sides(cast: Cast, agent: Agent) -> None:
    (first,) = recorded(agent, "refund", 1, decided="approve", days_ago=9)
    StandingApproval.objects.create(
        workspace=cast.workspace, agent=agent, environment="production", tool_name="refund",
        schema_fingerprint="sha256:refund", owner=cast.bob, owner_name="Bob", team=cast.support, tool_call=first,
        request_number=7, until=now() + timedelta(days=1), max_uses=2,
    )  # fmt: skip
    StandingApproval.objects.update(created_at=now() - timedelta(days=8))
    recorded(agent, "refund", 2, 3, 4, days_ago=5)
    asks = [{"name": "Asks", "tool": "refund", "action": "require"}]
    eyes = [{"name": "Eyes", "tool": "refund", "action": "require", "four_eyes": True}]
    # Two of three ran by it, and would not under four eyes: the first call was before it, the last is one too many.
    assert compared(cast, {"rules": asks}, {"rules": eyes}) == {"held": 2}
