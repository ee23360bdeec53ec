"""Limits through the API: reserved when asked, counted when started, given back when nothing came of the call."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from reviewhub.core.errors import Invalid
from reviewhub.core.models import IdempotencyKey
from reviewhub.limits.models import Reservation
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current_number
from reviewhub.policies.rename_team import rename_team
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import Grant, ToolCall
from reviewhub.tools.models import Tool
from reviewhub.tools.take_effect import take_effect
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call
from tests.racing import together
from tests.shared import shared

SUM = {"name": "Money", "tool": "refund", "window_seconds": 3600, "sum_of": "amount", "most": 500}
RUNS = {"name": "Refunds run", "tool": "refund", "action": "allow"}


def published(cast: Cast, **layers: Any) -> None:
    publish(
        workspace=cast.workspace,
        rules_text=json.dumps({"rules": [RUNS], **layers}),
        note="test",
        base=current_number(cast.workspace.pk),
        actor=ALICE,
    )


def repeatable(agent: AgentHttp) -> None:
    """The agent says that a refund may be repeated, and an admin takes its word."""
    agent.put("/tools/refund", {"effect": "idempotent"}).ok()
    take_effect(tool=Tool.objects.get(agent__name="Support agent", name="refund"), actor=ALICE)


@shared
def agent(cast: Cast) -> AgentHttp:
    made = agent_of(cast.support)
    made.put("/tools/refund", {"effect": "once"}).ok()
    published(cast, limits=[SUM])
    return made


@shared
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def ask(agent: AgentHttp, *amounts: Any, run: str = "") -> Reply:
    calls = [call(call_id=f"c{at}", arguments={"amount": amount}) for at, amount in enumerate(amounts)]
    return agent.pause(run or agent.run()["id"], *calls)


def refund(agent: AgentHttp, amount: Any) -> Any:
    return ask(agent, amount).ok(201)["tool_calls"][0]


def later(**time: int) -> None:
    Reservation.objects.update(at=F("at") - timedelta(**time))


@pytest.mark.django_db
def test_what_passes_waits_and_says_why(agent: AgentHttp, bob: PersonHttp) -> None:
    first = ask(agent, 300, "199.99", 0.01, 1).ok(201)["tool_calls"]
    assert [one["state"] for one in first] == ["allowed", "allowed", "allowed", "waiting"]
    because = first[3]["because"]
    assert (because["kind"], because["rule"]) == ("limit", "Money")
    assert "limit Money: 500 of 500 amount are taken, and this takes 1" in because["text"]
    asked = {"tool": "refund", "arguments": {"amount": 2}}
    before = Reservation.objects.count()
    said = agent.post("/policy/explain", asked).ok()
    assert (said["outcome"], said["because"]["kind"]) == ("require", "limit")
    assert "500 of 500" in next(step["why"] for step in said["steps"] if step["answers"])
    assert Reservation.objects.count() == before
    why = agent.get(f"/tool-calls/{first[3]['id']}/policy").ok()
    assert [step["layer"] for step in why["steps"] if step["answers"]] == ["limit"]
    bob.decide(first[3], "approve").ok()
    assert agent.consume(agent.get(f"/tool-calls/{first[3]['id']}").ok()).status == 200
    assert "501 of 500" in str(agent.post("/policy/explain", asked).json), "people said yes, and it counts"


GIVEN_BACK = [
    ("rejected", True),
    ("withdrawn", True),
    ("cancelled", True),
    ("failed", True),
    ("failed in part", False),
    ("unknown", False),
    ("succeeded", False),
    ("started", False),
    ("skipped by a person", True),
]


def end(agent: AgentHttp, bob: PersonHttp, one: Any, how: str) -> None:
    """What becomes of a call that took all there is."""
    if how == "withdrawn":
        agent.post(f"/tool-calls/{one['id']}/withdraw", {}).ok()
    if how == "cancelled":
        agent.post(f"/runs/{ToolCall.objects.get(pk=one['id']).run_id}/cancel", {}).ok()
    if how in ("rejected", "withdrawn", "cancelled"):
        return
    agent.consume(one).ok()
    if how == "failed in part":
        agent.outcome(one, "failed", error="half", partial={"paid": 1}).ok()
    elif how == "skipped by a person":
        agent.outcome(one, "unknown").ok()
        row = ReviewRequest.objects.get(tool_call=one["id"])
        body = {"type": "skip", "version": row.version, "digest": row.digest}
        bob.post(f"/requests/{row.pk}/decide", body).ok()
    elif how != "started":
        agent.outcome(one, how, **({"error": "no"} if how == "failed" else {})).ok()


@pytest.mark.django_db
@pytest.mark.parametrize(("how", "is_free"), GIVEN_BACK)
def test_what_came_to_nothing_is_given_back(
    agent: AgentHttp, bob: PersonHttp, cast: Cast, how: str, is_free: bool
) -> None:
    if how == "rejected":
        published(cast, rules=[{**RUNS, "action": "require"}], limits=[SUM])
    one = refund(agent, 500)
    if how == "rejected":
        bob.decide(one, "reject", message="Not now.").ok()
        published(cast, limits=[SUM])
    end(agent, bob, one, how)
    assert refund(agent, 500)["state"] == ("allowed" if is_free else "waiting")


@pytest.mark.django_db
def test_the_time_passes_and_what_starts_counts_from_then(agent: AgentHttp) -> None:
    late, early = refund(agent, 400), refund(agent, 100)
    later(minutes=59)
    agent.consume(early).ok()
    later(minutes=2)
    # The call of 400 has not started and its time is over; that of 100 started two minutes ago.
    other = refund(agent, 300)
    assert other["state"] == "allowed"
    assert refund(agent, 101)["state"] == "waiting"
    assert agent.consume(late).code == "policy_changed"
    assert ReviewRequest.objects.get(tool_call=late["id"]).state == "pending"
    assert agent.consume(other).status == 200


@pytest.mark.django_db
def test_denied_where_the_limit_says_so_but_not_what_cannot_be_counted(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    published(cast, limits=[{**SUM, "then": "deny"}])
    run = ask(agent, 500, 1, None, "many", -5).ok(201)
    assert [one["state"] for one in run["tool_calls"]] == [
        "allowed",
        "denied",
        "waiting",
        "waiting",
        "waiting",
    ]
    assert "cannot be counted: amount is null" in run["tool_calls"][2]["because"]["text"]
    assert Reservation.objects.filter(tool_call=run["tool_calls"][1]["id"]).count() == 0


@pytest.mark.django_db
def test_each_agent_or_all_together_and_strictest_of_all(agent: AgentHttp, cast: Cast) -> None:
    other = agent_of(cast.support, name="Other")
    other.put("/tools/refund", {"effect": "once"}).ok()
    two = {"name": "Two each", "tool": "*", "window_seconds": 60, "most": 2, "team": "Finance"}
    published(cast, limits=[{**SUM, "per": "all"}, two])
    assert refund(agent, 400)["state"] == "allowed"
    assert refund(other, 200)["state"] == "waiting"
    assert refund(other, 100)["state"] == "allowed", "what a limit holds takes nothing of it before it starts"
    third = refund(other, 0)
    assert third["because"]["rule"] == "Two each"
    assert ReviewRequest.objects.get(tool_call=third["id"]).teams.get().name == "Finance"
    rename_team(team=cast.finance, name="Money people", actor=ALICE)
    fourth = refund(other, 0)
    assert ReviewRequest.objects.get(tool_call=fourth["id"]).teams.get().name == "Money people"


@pytest.mark.django_db
def test_an_edit_is_weighed_again(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    limits = [SUM, {**SUM, "name": "Hard", "most": 900, "then": "deny"}]
    published(cast, rules=[{**RUNS, "action": "require"}], limits=[limits[1], {**limits[0], "approvals": 2}])
    one = refund(agent, 100)

    def edit(amount: int) -> Reply:
        return bob.decide(one, "edit", changes=[{"op": "set", "path": "/amount", "value": amount}])

    denied = edit(901)
    assert (denied.status, "limit Hard" in str(denied.json)) == (422, True)
    assert edit(600).ok()["needed"] == 1, "two have to approve by now"
    assert dict(Reservation.objects.values_list("meter__limit", "units")) == {"Hard": 600 * 10**6}


@pytest.mark.django_db
def test_a_failed_call_that_may_be_repeated_is_weighed_again(agent: AgentHttp, cast: Cast) -> None:
    repeatable(agent)
    published(cast, limits=[SUM])
    one = refund(agent, 400)
    agent.consume(one).ok()
    agent.outcome(one, "failed", error="no").ok()
    other = refund(agent, 200)
    assert other["state"] == "allowed"
    refused = agent.consume(one)
    assert (refused.code, "limit Money" in str(refused.json)) == ("not_allowed", True)
    agent.post(f"/tool-calls/{other['id']}/withdraw", {}).ok()
    assert agent.consume(one).status == 200


@pytest.mark.django_db
def test_a_standing_approval_passes_no_limit(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    published(cast, rules=[{**RUNS, "action": "require"}], limits=[SUM])
    bob.decide(refund(agent, 100), "approve", remember={"bounds": "any"}).ok()
    assert refund(agent, 400)["because"]["kind"] == "standing"
    assert refund(agent, 1)["because"]["kind"] == "limit"


@pytest.mark.django_db
def test_what_ran_unasked_counts(agent: AgentHttp) -> None:
    told = call(arguments={"amount": 501}) | {"outcome": {"status": "succeeded"}}
    body = {"checkpoint": {"state": {}}, "tool_calls": [told]}
    found = agent.post(f"/runs/{agent.run()['id']}/observations", body).ok(201)["tool_calls"][0]
    assert found["ran_without_approval"]
    assert refund(agent, 1)["state"] == "waiting"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"sum_of": "amout"}, "no “amout”"),
        ({"sum_of": "note"}, "needs a number"),
        ({"team": "Nobody"}, "no team"),
    ],
)
def test_a_limit_is_checked_against_the_tools(
    agent: AgentHttp, cast: Cast, limit: dict[str, Any], words: str
) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "number"}, "note": {"type": "boolean"}}}
    agent.put("/tools/refund", {"effect": "once", "schema": schema}).ok()
    with pytest.raises(Invalid) as refused:
        published(cast, limits=[{**SUM, **limit}])
    assert refused.value.errors[0]["path"].startswith("/limits/0/")
    assert words in refused.value.errors[0]["message"]


@pytest.mark.django_db
def test_a_flood_is_refused_and_leaves_nothing(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    waits = {**RUNS, "action": "require"}
    published(cast, rules=[waits], waiting=[{"name": "Few", "agent": "Support agent", "most": 2}])
    run = agent.run()["id"]
    first = refund(agent, 1)
    before = [ReviewRequest.objects.count(), ToolCall.objects.count(), IdempotencyKey.objects.count()]
    refused = ask(agent, 1, 2, run=run)
    assert (refused.status, refused.code, refused.json["limit"]) == (429, "slow_down", 2)
    assert refused.headers["Retry-After"] == "60"
    assert agent.pause(run, *(call(f"unknown{at}") for at in range(3))).status == 429
    assert not Tool.objects.filter(name__startswith="unknown").exists()
    assert before == [ReviewRequest.objects.count(), ToolCall.objects.count(), IdempotencyKey.objects.count()]
    assert Run.objects.get(pk=run).state == "running"
    assert refund(agent, 1)["state"] == "waiting"
    other = agent_of(cast.support, name="Other")
    assert refund(other, 1)["state"] == "waiting", "another agent has its own"
    assert ask(agent, 1, run=run).status == 429
    bob.decide(first, "approve").ok()
    assert ask(agent, 1, run=run).status == 201


@pytest.mark.django_db(transaction=True)
def test_ten_at_once_never_pass_a_limit(cast: Cast) -> None:
    agent = agent_of(cast.support)
    agent.put("/tools/refund", {"effect": "once"}).ok()
    published(cast, limits=[SUM], waiting=[{"name": "Few", "most": 3}])
    runs = [agent.run()["id"] for _ in range(10)]
    twins = [AgentHttp(token=agent.token) for _ in runs]
    replies = together(
        *(lambda twin=twin, run=run: ask(twin, 100, run=run) for twin, run in zip(twins, runs, strict=True))
    )
    assert all(isinstance(reply, Reply) for reply in replies), replies
    states = [reply.json["tool_calls"][0]["state"] for reply in replies if reply.status == 201]
    assert sorted(states) == ["allowed"] * 5 + ["waiting"] * 3
    assert [reply.status for reply in replies].count(429) == 2
    assert Grant.objects.count() == 5


STRICTER = [
    ("failed", "deny", "denied", 0),
    ("failed", "require", "waiting", 400),
    ("failed in part", "deny", "denied", 400),
    ("started", "deny", "unknown", 400),
    ("started", "require", "unknown", 400),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("how", "by_now", "state", "kept"), STRICTER)
def test_policy_is_asked_again_before_another_attempt(
    agent: AgentHttp, bob: PersonHttp, cast: Cast, how: str, by_now: str, state: str, kept: int
) -> None:
    repeatable(agent)
    published(cast, limits=[SUM])
    one = refund(agent, 400)
    end(agent, bob, one, how)
    published(cast, rules=[{**RUNS, "action": by_now}], limits=[SUM])
    refused = agent.consume(one)
    assert (refused.status, refused.code) == (409, "policy_changed")
    row = ToolCall.objects.get(pk=one["id"])
    assert (row.state, row.attempt) == (state, 1)
    published(cast, limits=[SUM])
    said = agent.post("/policy/explain", {"tool": "refund", "arguments": {"amount": 500}}).ok()
    assert (said["outcome"], f"{kept} of 500" in str(said)) == ("require" if kept else "allow", True)
    if state == "denied":
        return
    waiting = agent.get(f"/tool-calls/{one['id']}").ok()
    bob.decide(waiting, "approve" if state == "waiting" else "did_not_happen").ok()
    assert agent.consume(one).ok()["attempt"] == 2


@pytest.mark.django_db
def test_another_attempt_counts_from_when_it_starts(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    repeatable(agent)
    published(cast, limits=[SUM])
    one = refund(agent, 400)
    agent.consume(one).ok()
    later(minutes=61)
    agent.consume(one).ok()
    assert refund(agent, 200)["state"] == "waiting"


@pytest.mark.django_db
@pytest.mark.parametrize("tighter", [{"most": 300}, {"sum_of": None, "most": 0}, {"window_seconds": 60}])
def test_what_was_taken_of_another_limit_is_weighed_again(
    agent: AgentHttp, cast: Cast, tighter: dict[str, Any]
) -> None:
    one = refund(agent, 400)
    published(cast, limits=[{name: value for name, value in {**SUM, **tighter}.items() if value is not None}])
    is_within = "most" not in tighter
    assert agent.consume(one).code == ("" if is_within else "policy_changed")
    assert ToolCall.objects.get(pk=one["id"]).state == ("started" if is_within else "waiting")
