"""Verdicts and wishes over HTTP: what is kept of them, what speaks against a plan, and what people see."""

from __future__ import annotations

from typing import Any

from reviewhub.audit.models import Event
from reviewhub.verdicts.models import Verdict
from tests.cast import Cast
from tests.driver import PersonHttp, agent_of, call, policy
from tests.shared import shared

PLAN = {"steps": [{"id": "pay", "title": "Pay"}], "assumptions": [{"id": "open", "text": "The shop is open"}]}
WHY = {"why": {"kind": "agent", "text": "anew"}}


class Stage:
    """An agent with a plan and a tool that runs at once."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.http, self.bob = agent_of(cast.support), PersonHttp(cast.bob)
        self.http.put("/tools/look", {"effect": "read"}).ok()
        policy(cast.support, {"name": "Looks", "tool": "look", "action": "allow"})
        made = self.http.run()
        self.run, self.branch = made["id"], made["branches"][0]["id"]
        self.plan()

    def plan(self, **fields: Any) -> int:
        return int(self.http.post(f"/runs/{self.run}/plans", PLAN | fields).ok(201)["version"])

    def look(self, status: str) -> Any:
        one = self.http.pause(self.run, call("look", arguments={})).ok()["tool_calls"][0]
        self.http.consume(one).ok()
        error = {"error": "broken"} if status == "failed" else {}
        self.http.outcome(one, status, **error).ok()
        return one

    def signals(self) -> Any:
        return self.http.get(f"/branches/{self.branch}/signals").ok()

    def verdict(self, one: Any, **fields: Any) -> Any:
        body = {"name": "Hours", "status": "failed", "detail": "closed", "contradicts": "open", **fields}
        return self.http.post(f"/tool-calls/{one['id']}/verdicts", body)

    def ask(self, base: int = 1, **more: Any) -> Any:
        return self.bob.post(f"/runs/{self.run}/plans/ask", {"base": base, "reason": "Not so"}, **more)


@shared
def stage(cast: Cast) -> Stage:
    return Stage(cast)


def test_failures_in_a_row_count_since_the_plan(stage: Stage) -> None:
    assert stage.signals() == {"version": 1}
    for status in ("failed", "succeeded", "failed", "failed"):
        stage.look(status)
    assert stage.signals() == {"version": 1, "failures": 2}
    stage.plan(**WHY)
    assert stage.signals() == {"version": 2}


def test_a_verdict_that_contradicts_an_assumption(stage: Stage) -> None:
    one = stage.look("succeeded")
    assert stage.verdict(one, name="Other", contradicts="no such").ok(201)["status"] == "failed"
    assert stage.verdict(one, name="Fine", status="passed").ok(201)["status"] == "passed"
    assert stage.verdict(one, name="Lost", status="timed_out").ok(201)["status"] == "timed_out"
    assert stage.signals() == {"version": 1}
    first = stage.verdict(one).ok(201)
    assert stage.verdict(one, status="passed").ok(201) == first
    assert stage.signals() == {"version": 1, "contradicted": "open", "because": "Hours: closed"}
    assert Event.objects.filter(kind="verdict.given").count() == 4
    stage.plan(**WHY)
    assert stage.signals() == {"version": 2}
    assert stage.verdict(one, source="person").status == 422
    assert stage.verdict(one, name="x", status="pending").status == 422


def test_a_person_asks_for_another_plan(stage: Stage) -> None:
    assert stage.ask(7).code == "stale_plan"
    first = stage.ask(key="k" * 16).ok(201)
    assert stage.ask(key="k" * 16).ok(201) == first
    assert stage.signals() == {"version": 1, "asked": "Not so"}
    assert Verdict.objects.get().by_name == "Bob"
    assert Event.objects.filter(kind="plan.asked").count() == 1
    stage.plan(why={"kind": "person", "text": "Not so"})
    assert stage.signals() == {"version": 2}
    stage.http.post(f"/branches/{stage.branch}/fail", {"error": "x"}).ok()
    assert stage.ask(2).code == "run_ended"


def test_checks_that_could_not_be_made_hold_and_say_their_source(stage: Stage) -> None:
    checks = [
        {"name": "Sum", "status": "timed_out", "source": "function"},
        {"name": "Tone", "status": "passed", "source": "model", "detail": "Yes."},
    ]
    (one,) = stage.http.pause(stage.run, call("look", arguments={}, checks=checks)).ok()["tool_calls"]
    assert (one["state"], "failed check (Sum)" in one["because"]["text"]) == ("waiting", True)
    stage.verdict(one, name="Outside", status="error", judges="proposal").ok(201)
    slug = stage.bob.member.workspace.slug
    page = stage.bob.client.get(f"/{slug}/requests/{one['request']['number']}").content.decode()
    for said in (
        "(timed out)",
        "by a function of the agent",
        "by a model of the agent",
        "(could not check)",
    ):
        assert said in page
    page = stage.bob.client.get(f"/{slug}/runs/{stage.run}/plan/1").content.decode()
    assert "Ask for another plan" in page
    form = {"reason": "Not so", "key": "f" * 16}
    reply = stage.bob.client.post(f"/{slug}/runs/{stage.run}/plan/1/ask", form)
    assert (reply.status_code, stage.signals()["asked"]) == (302, "Not so")
    assert "Outside" in stage.bob.client.get(f"/{slug}/runs/{stage.run}").content.decode()


LOOKS = {"name": "Looks", "tool": "look", "action": "allow"}


def checked(stage: Stage, name: str) -> Any:
    checks = [{"name": name, "status": "failed", "source": "function"}]
    (one,) = stage.http.pause(stage.run, call("look", arguments={}, checks=checks)).ok()["tool_calls"]
    return one


def test_a_rule_says_that_a_failed_check_is_shown_and_holds_nothing(stage: Stage) -> None:
    shown = {"name": "Tone is shown", "tool": "rh.verdict/Tone", "action": "allow"}
    policy(stage.cast.support, LOOKS, shown)
    one = checked(stage, "Tone")
    assert one["state"] == "allowed"
    assert stage.http.consume(one).ok()
    assert stage.http.outcome(one, result=1).ok()
    # A rule for all that begins with rh. is not about verdicts.
    policy(stage.cast.support, LOOKS, {**shown, "tool": "rh.*"})
    assert checked(stage, "Sum")["state"] == "waiting"


def test_a_rule_makes_a_failed_verdict_a_reason_to_plan_anew(stage: Stage) -> None:
    one = stage.look("succeeded")
    stage.verdict(one, name="Books", contradicts="", judges="result").ok(201)
    assert stage.signals() == {"version": 1}
    policy(stage.cast.support, LOOKS, {"name": "Books", "tool": "rh.verdict/Books", "action": "deny"})
    assert stage.signals() == {"version": 1, "refused": "Books: closed"}
    lies = stage.http.pause(stage.run, call("rh.verdict/Books", arguments={}))
    assert (lies.status, "given, not asked for" in lies.json["detail"]) == (422, True)
    stage.plan(**WHY)
    assert stage.signals() == {"version": 2}
