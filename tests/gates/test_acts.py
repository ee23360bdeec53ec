"""Plans, ends and steps are approved like calls, and each approval is used once. Over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.plans.models import PlanVersion
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.driver import PersonHttp, Reply, agent_of, policy
from tests.shared import shared

STEPS = [{"id": "look", "title": "Look"}, {"id": "pay", "title": "Pay"}]
GATED: dict[str, Any] = {"name": "Plans", "tool": "rh.plan", "action": "require"}


class Stage:
    """An agent with a run whose plans need an approval, and a person."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.http = agent_of(cast.support)
        self.bob = PersonHttp(cast.bob)
        made = self.http.run()
        self.run, self.branch = made["id"], made["branches"][0]["id"]
        policy(cast.support, GATED)

    def plan(self, steps: Any = None, **fields: Any) -> Reply:
        return self.http.post(f"/runs/{self.run}/plans", {"steps": steps or STEPS, **fields})

    def finish(self, **fields: Any) -> Reply:
        return self.http.post(f"/branches/{self.branch}/finish", {"result": "done", **fields})

    def enter(self, node: str) -> Any:
        return self.http.post(f"/branches/{self.branch}/enter", {"node": node, "step": 3}).ok()

    def ask(self, tool: str, arguments_text: str) -> Reply:
        return self.http.pause(self.run, {"tool": tool, "arguments_text": arguments_text})

    def held(self, refusal: Reply) -> Any:
        """The call that the agent makes of a refusal, waiting."""
        assert (refusal.status, refusal.code) == (409, "approval_needed"), refusal.json
        (call,) = self.ask(refusal.json["tool"], refusal.json["arguments_text"]).ok()["tool_calls"]
        assert call["state"] == "waiting"
        return call

    def approved(self, refusal: Reply, type_: str = "approve", **fields: Any) -> Any:
        """The same, approved and consumed."""
        call = self.held(refusal)
        self.bob.decide(call, type_, **fields).ok()
        now = self.http.get(f"/tool-calls/{call['id']}").ok()
        return call | {"consumed": self.http.consume(now).ok()}

    def approved_plan(self, steps: Any = None, **fields: Any) -> Any:
        call = self.approved(self.plan(steps, **fields))
        return self.plan(steps, call=call["id"], **fields).ok(201)


@shared
def stage(cast: Cast) -> Stage:
    return Stage(cast)


def test_a_plan_is_written_with_its_approval_and_only_once(stage: Stage) -> None:
    refusal = stage.plan()
    assert PlanVersion.objects.count() == 0
    call = stage.held(refusal)
    shown = stage.bob.get(f"/requests/{call['request']['id']}").ok()
    assert shown["sentence"] == "Approve plan v1: 2 steps"
    assert shown["allowed_decisions"] == ["approve", "edit", "reject"]
    # Approved is not enough: the right is consumed first.
    stage.bob.decide(call, "approve").ok()
    assert stage.plan(call=call["id"]).code == "not_allowed"
    stage.http.consume(call).ok()
    assert stage.plan([STEPS[0]], call=call["id"]).code == "digest_mismatch"
    assert stage.plan(call=call["id"]).ok(201)["version"] == 1
    row = ToolCall.objects.get(pk=call["id"])
    assert (row.state, row.result) == ("succeeded", '{"version":1}')
    again = {"steps": STEPS, "call": call["id"], "why": {"kind": "agent", "text": "again"}}
    assert stage.http.post(f"/runs/{stage.run}/plans", again).code == "not_allowed"
    assert stage.http.consume(call).code == "already_consumed"
    assert PlanVersion.objects.count() == 1
    # What the engine reports afterwards is known already.
    assert stage.http.outcome(call, attempt=1, result={"version": 1}).ok()["state"] == "succeeded"


def test_people_may_change_a_plan_and_refuse_it(stage: Stage) -> None:
    changes = [{"op": "set", "path": "/steps/1/title", "value": "Pay half"}]
    call = stage.approved(stage.plan(), "edit", changes=changes)
    steps = json.loads(call["consumed"]["arguments_text"])["steps"]
    assert steps[1]["title"] == "Pay half"
    assert stage.plan(call=call["id"]).code == "digest_mismatch"
    assert stage.plan(steps, call=call["id"]).ok(201)["steps"][1]["title"] == "Pay half"
    again = stage.held(stage.plan([STEPS[0]], why={"kind": "failures", "failures": 3}))
    stage.bob.decide(again, "reject", message="Not yet").ok()
    assert stage.http.consume(again).code == "not_allowed"
    assert stage.plan([STEPS[0]], why={"kind": "agent"}, call=again["id"]).code == "not_allowed"
    assert PlanVersion.objects.count() == 1


def test_the_end_is_a_claim(stage: Stage) -> None:
    stage.approved_plan()
    refusal = stage.finish()
    assert json.loads(refusal.json["arguments_text"])["open_steps"] == [
        {"id": "look", "status": "pending", "title": "Look"},
        {"id": "pay", "status": "pending", "title": "Pay"},
    ]
    lie = stage.ask("rh.finish", '{"open_steps":[],"result":"done"}')
    assert (lie.status, "the record says" in lie.json["detail"]) == (422, True)
    call = stage.held(refusal)
    shown = stage.bob.get(f"/requests/{call['request']['id']}").ok()
    assert shown["sentence"] == "End the run with 2 open steps of its plan"
    assert shown["allowed_decisions"] == ["approve", "reject"]
    stage.bob.decide(call, "reject", message="Pay first").ok()
    marks = {"marks": [{"step": "look", "status": "done"}]}
    stage.http.post(f"/runs/{stage.run}/plans/1/marks", marks).ok()
    again = stage.approved(stage.finish())
    assert stage.finish(call=again["id"], result="something else").code == "digest_mismatch"
    assert stage.finish(call=call["id"]).code == "not_allowed"
    assert stage.finish(call=again["id"]).ok()["state"] == "succeeded"
    assert Event.objects.filter(kind="run.finished").count() == 1
    assert ToolCall.objects.get(pk=again["id"]).state == "succeeded"


def test_where_all_is_done_or_a_rule_says_so_nobody_is_asked(stage: Stage) -> None:
    stage.approved_plan([STEPS[0]])
    policy(stage.cast.support, {"name": "Ends", "tool": "rh.finish", "action": "require"})
    marks = {"marks": [{"step": "look", "status": "done"}]}
    stage.http.post(f"/runs/{stage.run}/plans/1/marks", marks).ok()
    assert stage.finish().code == "approval_needed"
    policy(stage.cast.support, GATED)
    assert stage.finish().ok()["state"] == "succeeded"


def test_a_step_outside_of_the_approved_plan_pauses(stage: Stage) -> None:
    assert stage.enter("pay") == {"gated": False}
    inside = {"path": "inside_plan", "test": "is", "value": True}
    rules: list[dict[str, Any]] = [
        GATED,
        {"name": "In the plan", "tool": "rh.step/*", "action": "allow", "when": [inside]},
        {"name": "Beside it", "tool": "rh.step/*", "action": "require"},
    ]
    policy(stage.cast.support, *rules[1:])
    # A plan that nobody approved is none to be inside of.
    stage.plan().ok(201)
    said = stage.enter("pay")
    assert json.loads(said["arguments_text"]) == {
        "inside_plan": False, "node": "pay", "plan_version": 1, "step": 3,
    }  # fmt: skip
    policy(stage.cast.support, *rules)
    stage.approved_plan([*STEPS, {"id": "x", "title": "X"}], why={"kind": "agent", "text": "more"})
    assert stage.enter("pay") == {"gated": True}
    lie = '{"inside_plan":true,"node":"drop","plan_version":2,"step":3}'
    assert stage.ask("rh.step/drop", lie).status == 422
    beside = stage.enter("drop")["arguments_text"]
    (call,) = stage.ask("rh.step/drop", beside).ok()["tool_calls"]
    assert call["state"] == "waiting"
    stage.bob.decide(call, "approve").ok()
    stage.http.consume(call).ok()
    stage.http.outcome(call, result=None).ok()
    stage.http.post(f"/runs/{stage.run}/plans/2/marks", {"marks": [{"step": "pay", "status": "done"}]}).ok()
    assert "arguments_text" in stage.enter("pay")


def test_an_approval_of_another_branch_is_none(stage: Stage) -> None:
    call = stage.approved(stage.plan())
    other = Stage.__new__(Stage)
    other.__dict__.update(stage.__dict__)
    other.run = stage.http.run()["id"]
    assert other.plan(call=call["id"]).code == "not_allowed"
    assert stage.plan(call="01890000-0000-7000-8000-000000000000").status == 404


@pytest.mark.parametrize("name", ["rh.plan", "rh.refund", "RH.step/x"])
def test_the_server_s_names_are_its_own(stage: Stage, name: str) -> None:
    reply = stage.http.put(f"/tools/{name}", {"effect": "read"})
    assert (reply.status, reply.json["errors"][0]["path"]) == (422, "/name")


def test_a_question_is_answered_and_nothing_else(stage: Stage) -> None:
    assert stage.ask("rh.refund", "{}").status == 422
    policy(stage.cast.support, {"name": "All", "tool": "rh.*", "action": "allow"})
    (call,) = stage.ask("rh.ask", '{"question":"Which order?"}').ok()["tool_calls"]
    assert call["state"] == "waiting"
    assert stage.bob.decide(call, "approve").status == 422
    assert stage.bob.decide(call, "respond", value="8812").ok()["state"] == "responded"


def test_what_was_approved_is_what_is_so_now(stage: Stage) -> None:
    """A forged number is refused, one that another plan took is not spent, and no end is spent on later steps."""
    said = json.loads(stage.plan().json["arguments_text"])
    forged = stage.ask("rh.plan", json.dumps({**said, "version": 99}))
    assert (forged.status, "version: the next one is 1" in str(forged.json)) == (422, True)
    policy(stage.cast.support, {"name": "Ends", "tool": "rh.finish", "action": "require"})
    end = stage.approved(stage.finish())
    stage.plan().ok(201)
    assert stage.finish(call=end["id"]).code == "digest_mismatch"
    stage.http.outcome(end, "failed", error="there is a plan by now").ok()
    again = stage.approved(stage.finish())
    assert stage.finish(call=again["id"]).ok()["state"] == "succeeded"


def test_an_approved_plan_whose_number_another_branch_took_is_not_spent(stage: Stage) -> None:
    call = stage.approved(stage.plan())
    policy(stage.cast.support)
    saved = stage.http.post(f"/runs/{stage.run}/checkpoints", {"state": {"n": 2}}).ok(201)
    fork = stage.http.post(f"/checkpoints/{saved['id']}/fork", {"reason": "other"}).ok(201)
    stage.plan(branch=fork["branch"]["name"]).ok(201)
    assert stage.plan(call=call["id"]).code == "digest_mismatch"
    assert PlanVersion.objects.count() == 1
