"""Calls inside of a step of an approved plan may pass without another look, where a rule says so; others pause."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.adopt import adopt
from reviewhub.insights.models import Backtest
from reviewhub.insights.rules import Tally
from reviewhub.insights.start_backtest import start_backtest
from reviewhub.insights.work_off import work_off
from reviewhub.policies.set_shadow import set_shadow
from reviewhub.toolcalls.in_plan import plan_step
from reviewhub.toolcalls.models import ShadowAnswer, ToolCall
from tests.cast import ALICE, Cast
from tests.driver import policy
from tests.hosting import families
from tests.hosting.conftest import Hosted
from tests.hosting.graphs import new_world
from tests.insights.make import draft_of

PLANS = {"name": "Plans", "tool": "rh.plan", "action": "require"}
INSIDE = {"name": "In the plan", "tool": "pay", "action": "allow", "expression": 'plan_step == "pay"'}


@pytest.fixture
def planner(cast: Cast, settings: Any) -> Hosted:
    settings.HOSTED_GRAPHS = {"planner": "tests.hosting.families:planner"}
    families.DONE.clear()
    agent = adopt(team=cast.support, graph="planner", name="Planner", owner=None, actor=SYSTEM)
    return Hosted(agent=agent, person=cast.bob, world=new_world())


def test_inside_of_an_approved_step_nobody_is_asked_and_beside_it_they_are(planner: Hosted) -> None:
    policy(planner.agent.team, PLANS, INSIDE)
    planner.start()
    planner.work()
    assert planner.request().tool_name == "rh.plan"
    planner.decide("approve")
    planner.work()
    assert families.DONE == ["inside"]
    held = planner.request()
    assert (held.tool_name, held.tool_call.call_id.split("/")[1]) == ("pay", "beside")
    first = ToolCall.objects.get(tool_name="pay", state="succeeded")
    assert "In the plan" in first.because
    # The step is done by now: what was inside of it is not any more.
    assert plan_step(agent=first.agent, branch=first.branch, call_id=first.call_id) == ""


def test_a_plan_that_nobody_approved_frees_nothing(planner: Hosted) -> None:
    policy(planner.agent.team, INSIDE)
    planner.start()
    planner.work()
    assert planner.request().tool_call.call_id.split("/")[1] == "pay"
    assert families.DONE == []


def test_what_another_program_says_of_itself_frees_nothing(planner: Hosted) -> None:
    policy(planner.agent.team, PLANS, {**INSIDE, "action": "require"})
    planner.start()
    planner.work()
    planner.decide("approve")
    planner.work()
    call = ToolCall.objects.get(tool_name="pay", state="waiting")
    asked = {"branch": call.branch, "call_id": "1/pay/pause/1.0"}
    assert plan_step(agent=call.agent, **asked) == "pay"
    call.agent.runner = Agent.Runner.POLL
    assert plan_step(agent=call.agent, **asked) == ""


def test_a_draft_in_shadow_and_a_backtest_know_the_step(cast: Cast, planner: Hosted) -> None:
    policy(planner.agent.team, PLANS)
    draft = draft_of(cast, json.dumps({"rules": [PLANS, INSIDE]}))
    set_shadow(workspace_id=cast.workspace.pk, draft_id=draft.pk, on=True, actor=ALICE)
    planner.start()
    planner.work()
    for node in ("rh.plan", "pay", "beside"):
        held = planner.request()
        assert node in (held.tool_name, held.tool_call.call_id.split("/")[1])
        if node != "beside":
            planner.decide("approve")
            planner.work()
    assert [(one.change, one.rule) for one in ShadowAnswer.objects.all()] == [("freed", "In the plan")]
    start_backtest(workspace_id=cast.workspace.pk, draft_id=draft.pk, days=1, actor=ALICE)
    work_off(Backtest.objects.get().pk)
    assert Tally.loads(Backtest.objects.get().figures).changes == {"freed": 1}
