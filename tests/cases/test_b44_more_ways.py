"""B44, further ways round four eyes: what nobody knows of, stand-ins, ladders, guardrails, what is remembered."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from reviewhub.accounts.models import Agent, Member
from reviewhub.core.clock import now
from reviewhub.reviews.escalate import escalate
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run
from tests.cases.conftest import Exec
from tests.cases.test_b44_own_calls import EYES, OWN
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy
from tests.web.test_review import form_of


def asked(agent: AgentHttp) -> Any:
    return agent.pause(agent.run()["id"], call("refund")).ok(201)["tool_calls"][0]


def signed_in(member: Member, hours_ago: int = 0) -> PersonHttp:
    """Somebody who showed their password then."""
    person = PersonHttp(member)
    session = person.client.session
    session["signed_in_at"] = (now() - timedelta(hours=hours_ago)).isoformat()
    session.save()
    return person


@pytest.mark.parametrize("own", OWN)
def test_b44_who_has_a_hand_in_it_does_not_let_it_run_a_second_time(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec, own: Callable[[Cast], None]
) -> None:
    """An agent loses the outcome of an approved call, and its owner says that it did not happen."""
    cast.dave.teams.add(cast.support)
    policy(cast.support, {**EYES, "sign_in_minutes": 60})
    waiting = asked(agent)
    dave = signed_in(cast.dave)
    dave.decide(waiting, "approve").ok()
    agent.consume(waiting).ok()
    agent.outcome(waiting, "unknown").ok()
    own(cast)
    row = ReviewRequest.objects.get(kind="unknown")
    lost = {**waiting, "version": row.version, "digest": row.digest, "request": {"id": str(row.pk)}}
    bob = signed_in(cast.bob)
    refused = bob.decide(lost, "did_not_happen")
    assert (refused.status, refused.code) == (403, "forbidden")
    path = f"/{cast.workspace.slug}/requests/{row.number}"
    page = reviewer.client.get(f"{path}?mode=did_not_happen").content.decode()
    assert "Your answer would not be taken" in page and "It did not happen, it may run" not in page
    form = form_of(reviewer.client.get(f"{path}?mode=skip").content.decode()) | {"type": "did_not_happen"}
    assert reviewer.client.post(f"{path}/decide", form).status_code == 403
    assert ReviewRequest.objects.get(kind="unknown").state == "pending"
    assert signed_in(cast.dave, hours_ago=2).decide(lost, "did_not_happen").code == "sign_in_again"
    reviewer.decide(lost, "skip").ok()
    assert not tool.attempt(waiting)


def test_b44_who_is_apart_from_it_may_say_that_it_did_not_happen(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp
) -> None:
    policy(cast.support, EYES)
    waiting = asked(agent)
    reviewer.decide(waiting, "approve").ok()
    agent.consume(waiting).ok()
    agent.outcome(waiting, "unknown").ok()
    row = ReviewRequest.objects.get(kind="unknown")
    lost = {**waiting, "version": row.version, "digest": row.digest, "request": {"id": str(row.pk)}}
    reviewer.decide(lost, "did_not_happen").ok()
    agent.consume(agent.get(f"/tool-calls/{waiting['id']}").ok()).ok()


@pytest.mark.parametrize(
    "named",
    [
        "bob@example.com",
        "BOB@EXAMPLE.COM",
        "Bob <bob@example.com>",
        "\uff42\uff4f\uff42\uff20example.com",
        "b\u200bob@example.com",
        "carol@example.com, bob@example.com",
        "mailto:bob@example.com",
        '"Bob" [bob@example.com]',
        "MEMBER",
        "member:MEMBER",
        "Bob (MEMBER)",
    ],
)
def test_b44_however_the_agent_spells_whom_it_acts_for(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, named: str
) -> None:
    policy(cast.support, EYES)
    waiting = asked(agent)
    Run.objects.update(on_behalf_of=named.replace("MEMBER", str(cast.bob.pk).upper()))
    assert reviewer.decide(waiting, "approve").code == "forbidden"


def test_b44_a_step_of_the_ladder_gives_the_owner_no_vote(cast: Cast, agent: AgentHttp) -> None:
    ladder = [{"after_seconds": 60, "managers": True}]
    policy(cast.support, {**EYES, "deadline_seconds": 3600, "escalation": ladder})
    waiting = asked(agent)
    Agent.objects.update(owner=cast.carol)
    ReviewRequest.objects.update(escalate_at=F("escalate_at") - timedelta(seconds=120))
    escalate(request_id=ReviewRequest.objects.get().pk)
    refused = PersonHttp(cast.carol).decide(waiting, "approve")
    assert (refused.status, refused.code) == (403, "forbidden") and ReviewRequest.objects.get().asks_managers


def test_b44_a_guardrail_asks_for_four_eyes_whatever_the_rule_says(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp
) -> None:
    from reviewhub.policies.publish import publish
    from tests.cast import ALICE

    text = '{"guardrails":[{"name":"G","tool":"REFUND","action":"require","four_eyes":true}],"rules":[{"name":"R",'
    text += '"tool":"refund","action":"require","on_timeout":"allow","deadline_seconds":60}]}'
    publish(workspace=cast.workspace, rules_text=text, note="why", base=0, actor=ALICE)
    waiting = asked(agent)
    Agent.objects.update(owner=cast.bob)
    assert reviewer.decide(waiting, "approve").code == "forbidden"
    remembered = {"scope": "agent", "bounds": "any"}
    Agent.objects.update(owner=None)
    assert reviewer.decide(waiting, "approve", remember=remembered).status == 422
    assert ReviewRequest.objects.get().state == "pending" and not ReviewRequest.objects.get().approvals


@pytest.mark.parametrize("tool_name", ["pay", "nobody_described_it", "never"])
def test_b44_saying_what_became_of_a_call_that_nobody_let_run_lets_it_run_neither(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec, tool_name: str
) -> None:
    """It ran without asking, says the agent, and who knows how it ended: one word is no two approvals."""
    policy(
        cast.support,
        {"name": "Two", "tool": "pay", "action": "require", "approvals": 2},
        {"name": "Never", "tool": "never", "action": "deny"},
    )
    run = agent.run()["id"]
    told = {**call(tool_name), "outcome": {"status": "unknown", "error": "No answer."}}
    (waiting,) = agent.post(f"/runs/{run}/observations", {"tool_calls": [told]}).ok(201)["tool_calls"]
    waiting["request"] = reviewer.get("/requests").ok()["items"][0]
    shown = reviewer.get(f"/requests/{waiting['request']['id']}").ok()
    assert shown["allowed_decisions"] == ["happened", "skip"]
    assert reviewer.decide(waiting, "did_not_happen").status == 422
    assert not tool.attempt(waiting)
    reviewer.decide(waiting, "skip", message="It is not there.").ok()
    assert not tool.attempt(waiting)
    assert agent.get(f"/tool-calls/{waiting['id']}").ok()["state"] == "skipped"


def test_b44_of_one_that_policy_lets_run_a_person_may_say_that_it_did_not_happen(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    agent.put("/tools/refund", {"effect": "once"}).ok()
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "allow"})
    told = {**call(), "outcome": {"status": "unknown", "error": "No answer."}}
    run = agent.run()["id"]
    (waiting,) = agent.post(f"/runs/{run}/observations", {"tool_calls": [told]}).ok(201)["tool_calls"]
    waiting["request"] = reviewer.get("/requests").ok()["items"][0]
    reviewer.decide(waiting, "did_not_happen").ok()
    assert tool.attempt(waiting)
