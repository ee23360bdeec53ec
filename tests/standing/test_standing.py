"""Approve and remember: what a standing approval lets run, and what stands whatever was remembered."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.core.clock import now
from reviewhub.policies.publish import publish
from reviewhub.reviews.models import ReviewRequest
from reviewhub.standing.models import StandingApproval, StandingUse
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy, staging
from tests.racing import together
from tests.shared import shared

SCHEMA = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "amount": {"type": "number"}, "note": {"type": "string"}},
}
TOOL = {"effect": "once", "schema": SCHEMA}
ASK = {"name": "Refunds", "tool": "refund", "action": "require"}
SMALL = {"bounds": "within", "when": [{"path": "amount", "test": "is_at_most", "value": 50}]}


@shared
def agent(cast: Cast) -> AgentHttp:
    made = agent_of(cast.support)
    made.put("/tools/refund", TOOL).ok()
    policy(cast.support, ASK)
    return made


@shared
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def propose(agent: AgentHttp, amount: Any = 10, *, run: str = "", **fields: Any) -> Any:
    arguments = {"order": "8812", "amount": amount}
    made = agent.pause(run or agent.run()["id"], call(arguments=arguments, **fields)).ok(201)
    return made["tool_calls"][0]


def kept(agent: AgentHttp, bob: PersonHttp, **asked: Any) -> str:
    """A standing approval made from a refund of 10."""
    return str(bob.decide(propose(agent), "approve", remember=asked).ok()["standing"])


def outside(agent: AgentHttp, bob: PersonHttp, cast: Cast, what: str) -> Any:
    """A call that is like the remembered one in all respects but one."""
    if what == "another agent":
        other = agent_of(cast.support, name="Another")
        other.put("/tools/refund", TOOL).ok()
        return propose(other)
    if what == "another environment":
        return propose(staging(agent))
    if what == "another schema":
        agent.put("/tools/refund", {**TOOL, "schema": {"type": "object"}}).ok()
    if what == "another team decides":
        policy(cast.support, {**ASK, "team": "Finance"})
    if what == "two decide":
        policy(cast.support, {**ASK, "approvals": 2})
    if what == "four eyes":
        policy(cast.support, {**ASK, "four_eyes": True})
    if what == "a password each time":
        policy(cast.support, {**ASK, "sign_in_minutes": 5})
    if what == "two teams decide":
        policy(cast.support, {**ASK, "stages": [{"team": "Support"}, {"team": "Finance"}]})
    if what == "the owner left the team":
        cast.bob.teams.clear()
    if what == "the owner is disabled":
        type(cast.bob).objects.filter(pk=cast.bob.pk).update(is_active=False)
    if what == "its time is over":
        StandingApproval.objects.update(until=now() - timedelta(seconds=1))
    if what == "revoked":
        (row,) = StandingApproval.objects.all()
        bob.post(f"/standing-approvals/{row.pk}/revoke", {"reason": "no more"}).ok()
    if what == "a failed check":
        return propose(agent, checks=[{"name": "stock", "status": "failed"}])
    if what == "policy denies":
        policy(cast.support, {**ASK, "action": "deny"})
    return propose(agent, {"too much": 51, "exactly": 50}.get(what, 10))


OUTSIDE = [
    ("exactly", "allowed"),
    ("too much", "waiting"),
    ("another agent", "waiting"),
    ("another environment", "waiting"),
    ("another schema", "waiting"),
    ("another team decides", "waiting"),
    ("two decide", "waiting"),
    ("four eyes", "waiting"),
    ("a password each time", "waiting"),
    ("two teams decide", "waiting"),
    ("the owner left the team", "waiting"),
    ("the owner is disabled", "waiting"),
    ("its time is over", "waiting"),
    ("revoked", "waiting"),
    ("a failed check", "waiting"),
    ("policy denies", "denied"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("what", "state"), OUTSIDE)
def test_only_what_it_covers_runs(
    agent: AgentHttp, bob: PersonHttp, cast: Cast, what: str, state: str
) -> None:
    kept(agent, bob, **SMALL)
    assert outside(agent, bob, cast, what)["state"] == state
    assert StandingUse.objects.count() == (state == "allowed")


@pytest.mark.django_db
def test_a_guardrail_asks_each_time(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    kept(agent, bob)
    assert propose(agent)["because"]["kind"] == "standing"
    publish(
        workspace=cast.workspace,
        rules_text=json.dumps({"guardrails": [ASK], "rules": [ASK]}),
        note="each time",
        base=1,
        actor=ALICE,
    )
    one = propose(agent)
    assert (one["state"], one["because"]["kind"]) == ("waiting", "guardrail")
    refused = bob.decide(one, "approve", remember={})
    assert (refused.status, refused.code) == (422, "invalid")
    assert "Somebody has to look at each such call" in str(refused.json)
    assert ReviewRequest.objects.get(tool_call=one["id"]).state == "pending", "the vote is not counted either"


@pytest.mark.django_db
def test_each_use_is_counted_told_and_explained(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    made = kept(agent, bob, uses=2, **SMALL)
    asked = {"tool": "refund", "arguments": {"order": "1", "amount": 20}}
    said = agent.post("/policy/explain", asked).ok()
    assert (said["outcome"], said["because"]["kind"]) == ("allow", "standing")
    assert [step["layer"] for step in said["steps"] if step["answers"]] == ["standing"]
    first, second, third = propose(agent, 20), propose(agent, 30), propose(agent, 40)
    assert [one["state"] for one in (first, second, third)] == ["allowed", "allowed", "waiting"]
    assert first["because"]["rule"] == "#1"
    assert "Bob approved calls like #1" in first["because"]["text"]
    assert "(use 1 of 2)" in first["because"]["text"]
    assert agent.consume(first).ok()["arguments"]["amount"] == 20
    why = agent.get(f"/tool-calls/{first['id']}/policy").ok()
    assert [step["layer"] for step in why["steps"] if step["answers"]] == ["standing"]
    events = Event.objects.filter(kind="standing.used").order_by("id")
    assert [str(event.run_id) for event in events] == [
        str(use.tool_call.run_id) for use in StandingUse.objects.order_by("number")
    ]
    (row,) = bob.get("/standing-approvals?state=all").ok()["items"]
    assert (row["id"], row["state"], row["uses"], row["max_uses"]) == (made, "used_up", 2, 2)
    assert row["covers"] == "where amount is at most 50, in any run in production"
    assert bob.get("/standing-approvals").ok()["items"] == []


@pytest.mark.django_db
def test_revoking_reaches_what_has_not_started(agent: AgentHttp, bob: PersonHttp) -> None:
    made = kept(agent, bob)
    started, late = propose(agent), propose(agent)
    key = "k" * 20
    agent.consume(started, key=key).ok()
    revoked = bob.post(f"/standing-approvals/{made}/revoke", {"reason": "the shop is closed"}).ok()
    assert (revoked["state"], revoked["revoked_because"]) == ("revoked", "the shop is closed")
    again = bob.post(f"/standing-approvals/{made}/revoke", {"reason": "other words"}).ok()
    assert again["revoked_because"] == "the shop is closed"
    assert Event.objects.filter(kind="standing.revoked").count() == 1
    assert agent.consume(late).code == "policy_changed"
    assert ReviewRequest.objects.get(tool_call=late["id"]).state == "pending"
    assert agent.consume(started, key=key).status == 200, "the same answer to who asks again"
    assert agent.outcome(started).status == 200


@pytest.mark.django_db
def test_no_to_one_exact_call_beats_it_until_somebody_says_yes(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    before = propose(agent, 20)
    kept(agent, bob, **SMALL)
    pending = propose(agent, 20)
    assert pending["state"] == "allowed"
    bob.decide(before, "reject", message="not this order").ok()
    assert agent.consume(pending).code == "policy_changed", "allowed before the no, not started yet"
    one = propose(agent, 20)
    assert one["state"] == "waiting"
    steps = agent.post(
        "/policy/explain", {"tool": "refund", "arguments": {"order": "8812", "amount": 20}}
    ).ok()["steps"]
    assert [step["rule"] for step in steps if step["layer"] == "rejection"] == ["#1"]
    assert not any(step["answers"] for step in steps if step["layer"] == "standing")
    assert propose(agent, 21)["state"] == "allowed", "another call"
    bob.decide(one, "approve").ok()
    assert propose(agent, 20)["state"] == "allowed"


@pytest.mark.django_db
def test_no_to_one_exact_call_beats_a_rule_in_the_same_run(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    run = agent.run()["id"]
    bob.decide(propose(agent, run=run), "reject", message="Not now.").ok()
    policy(cast.support, {**ASK, "action": "allow"})
    one = propose(agent, run=run)
    assert (one["state"], one["because"]["kind"]) == ("waiting", "rejection")
    assert "Bob rejected exactly this call (#1)." in one["because"]["text"]
    assert propose(agent)["state"] == "allowed", "in another run the rule holds"


REFUSED = [
    ({"bounds": "within"}, "it needs one at least"),
    ({"when": SMALL["when"]}, "Only “within” has conditions"),
    ({"bounds": "within", "when": [{"path": "amount", "test": "is_over", "value": 10}]}, "itself is outside"),
    ({"bounds": "within", "when": [{"path": "amout", "test": "is_over", "value": 1}]}, "have no “amout”"),
    ({"bounds": "within", "when": [{"path": "order", "test": "is_over", "value": "x"}]}, "needs a number"),
    ({"bounds": "within", "expression": "args.amount >"}, "The expression"),
    ({"until": "2001-01-01T00:00:00Z"}, "no time to come"),
    ({"uses": 0}, "uses"),
    ({"scope": "everybody"}, "scope"),
]


@pytest.mark.django_db
def test_what_cannot_be_remembered_leaves_the_request_open(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    one = propose(agent)
    for asked, words in REFUSED:
        reply = bob.decide(one, "approve", remember=asked)
        assert reply.status == 422, asked
        assert words in str(reply.json), (asked, reply.json)
    edit = {"changes": [{"op": "set", "path": "/amount", "value": 5}]}
    assert bob.decide(one, "edit", remember={}, **edit).status == 422
    assert bob.decide(one, "reject", remember={}).status == 422
    cast.alice.teams.add(cast.support)
    policy(cast.support, {**ASK, "approvals": 2})
    two = propose(agent)
    assert "more than" in str(bob.decide(two, "approve", remember={}).json)
    policy(cast.support, ASK)
    three = propose(agent)
    policy(cast.support, {**ASK, "four_eyes": True})
    bob.decide(three, "edit", **edit).ok()
    edited = agent.get(f"/tool-calls/{three['id']}").ok()
    late = PersonHttp(cast.alice).decide(edited, "approve", remember={})
    assert (late.status, "cannot be remembered" in str(late.json)) == (422, True)
    assert not StandingApproval.objects.exists()
    assert set(ReviewRequest.objects.values_list("state", flat=True)) == {"pending"}


@pytest.mark.django_db
def test_exact_and_in_the_same_run_unless_more_is_said(agent: AgentHttp, bob: PersonHttp) -> None:
    kept(agent, bob)
    assert propose(agent)["state"] == "allowed"
    assert propose(agent, 11)["state"] == "waiting"
    run = agent.run()["id"]
    one = propose(agent, 70, run=run)
    bob.decide(one, "approve", remember={"scope": "run", "bounds": "any"}).ok()
    agent.consume(agent.get(f"/tool-calls/{one['id']}").ok()).ok()
    agent.outcome(one).ok()
    assert propose(agent, 71, run=run)["state"] == "allowed"
    assert propose(agent, 71)["state"] == "waiting"


@pytest.mark.django_db(transaction=True)
def test_many_pauses_at_once_use_it_as_often_as_it_may_be_used(cast: Cast) -> None:
    agent = agent_of(cast.support)
    agent.put("/tools/refund", TOOL).ok()
    policy(cast.support, ASK)
    kept(agent, PersonHttp(cast.bob), uses=3)
    runs = [agent.run()["id"] for _ in range(5)]
    twins = [AgentHttp(token=agent.token) for _ in runs]
    states = together(
        *(
            lambda twin=twin, run=run: propose(twin, run=run)["state"]
            for twin, run in zip(twins, runs, strict=True)
        )
    )
    assert sorted(states) == ["allowed"] * 3 + ["waiting"] * 2
    assert StandingApproval.objects.get().uses == StandingUse.objects.count() == 3


@pytest.mark.django_db
def test_no_to_a_call_is_no_however_its_number_is_written(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    run, before = agent.run()["id"], propose(agent, 20)
    kept(agent, bob, **SMALL)
    pending = agent.pause(agent.run()["id"], raw_call("20.0")).ok(201)["tool_calls"][0]
    assert pending["state"] == "allowed"
    bob.decide(before, "reject", message="not this order").ok()
    assert agent.consume(pending).code == "policy_changed"
    again = agent.pause(agent.run()["id"], raw_call("2e1")).ok(201)["tool_calls"][0]
    assert again["state"] == "waiting"
    asked = {"tool": "refund", "arguments": {"order": "8812", "amount": 20.0}}
    steps = agent.post("/policy/explain", asked).ok()["steps"]
    assert [step["layer"] for step in steps if step["layer"] == "rejection"] == ["rejection"]
    bob.decide(propose(agent, 60, run=run), "reject", message="Not so much.").ok()
    policy(cast.support, {**ASK, "action": "allow"})
    (one,) = agent.pause(run, raw_call("60.00")).ok(201)["tool_calls"]
    assert (one["state"], one["because"]["kind"]) == ("waiting", "rejection")


def raw_call(amount: str) -> dict[str, Any]:
    """A refund whose amount is written like this."""
    one = call()
    del one["arguments"]
    return {**one, "arguments_text": f'{{"amount":{amount},"order":"8812"}}'}
