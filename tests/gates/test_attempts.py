"""Attempts: whose key still means go, whose outcome it is, and what a wrong “did not happen” leaves."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.core import clock
from reviewhub.toolcalls.models import Attempt, Grant
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy
from tests.shared import shared

pytestmark = pytest.mark.django_db


@shared
def agent(cast: Cast) -> AgentHttp:
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    return agent_of(cast.support)


@shared
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def now(agent: AgentHttp, one: Any) -> Any:
    return agent.get(f"/tool-calls/{one['id']}").ok()


def lost(agent: AgentHttp, bob: PersonHttp, key: str = "first") -> Any:
    """A call that was started with `key`, and of which a person said that it did not happen."""
    one = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]
    bob.decide(one, "approve").ok()
    agent.consume(one, key=key).ok()
    agent.outcome(one, "unknown", error="cut off").ok()
    bob.decide(now(agent, one), "did_not_happen").ok()
    return now(agent, one)


def test_the_key_of_a_lost_attempt_is_spent(agent: AgentHttp, bob: PersonHttp) -> None:
    one = lost(agent, bob)
    assert one["state"] == "allowed"
    assert agent.consume(one, key="first").code == "already_consumed"
    assert agent.consume(one, key="second").ok()["attempt"] == 2
    assert agent.consume(one, key="first").code == "already_consumed"
    assert agent.consume(one, key="second").ok()["attempt"] == 2, "the answer may have been lost"
    assert Attempt.objects.filter(tool_call=one["id"]).count() == 2


def test_the_key_of_an_earlier_attempt_of_an_idempotent_call_is_spent(
    agent: AgentHttp, bob: PersonHttp
) -> None:
    agent.put("/tools/mail", {"effect": "idempotent"}).ok(200, 201)
    one = agent.pause(agent.run()["id"], call("mail")).ok(201)["tool_calls"][0]
    bob.decide(one, "approve").ok()
    agent.consume(one, key="first").ok()
    agent.consume(one, key="second").ok()
    assert agent.consume(one, key="first").code == "already_consumed"


def test_a_key_stands_for_one_digest(agent: AgentHttp, bob: PersonHttp) -> None:
    one = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]
    bob.decide(one, "approve").ok()
    agent.consume(one, key="k").ok()
    assert agent.consume({**one, "digest": "sha256:" + "0" * 64}, key="k").code == "idempotency_conflict"


def test_nothing_is_handed_out_again_after_a_cancel(agent: AgentHttp, bob: PersonHttp) -> None:
    run = agent.run()["id"]
    one = agent.pause(run, call()).ok(201)["tool_calls"][0]
    bob.decide(one, "approve").ok()
    agent.consume(one, key="k").ok()
    agent.post(f"/runs/{run}/cancel", {"reason": "stop"}).ok()
    assert agent.consume(one, key="k").status == 409
    assert agent.outcome(one).status == 200, "what happened is always taken"


def test_an_outcome_without_its_attempt_is_nobodys(agent: AgentHttp, bob: PersonHttp) -> None:
    one = lost(agent, bob)
    agent.consume(one, key="second").ok()
    late = agent.outcome(one, result={"of": "the first"})
    assert late.code == "outcome_conflict"
    assert "started 2 times" in late.json["detail"]
    assert Event.objects.filter(kind="call.late_outcome").count() == 1
    agent.outcome(one, result={"of": "the second"}, attempt=2).ok()
    assert now(agent, one)["result"] == {"of": "the second"}


def test_what_happened_after_all_does_not_run_again(agent: AgentHttp, bob: PersonHttp) -> None:
    one = lost(agent, bob)
    agent.outcome(one, result={"paid": 1}, attempt=1).ok()
    assert now(agent, one)["state"] == "succeeded"
    assert agent.consume(one, key="second").status == 409
    assert set(Grant.objects.filter(tool_call=one["id"]).values_list("state", flat=True)) == {
        "consumed",
        "revoked",
    }


def test_what_happened_after_all_ends_the_request_that_asks_again(agent: AgentHttp, bob: PersonHttp) -> None:
    one = lost(agent, bob)
    Grant.objects.filter(state="open").update(expires_at=clock.now())
    assert agent.consume(one, key="second").code == "grant_expired"
    assert now(agent, one)["state"] == "waiting"
    agent.outcome(one, result={"paid": 1}, attempt=1).ok()
    after = now(agent, one)
    assert (after["state"], after["decision"]["type"]) == ("succeeded", "happened")
    assert bob.get("/requests?state=pending").ok()["items"] == []


def test_a_failed_attempt_after_did_not_happen_changes_nothing(agent: AgentHttp, bob: PersonHttp) -> None:
    one = lost(agent, bob)
    assert agent.outcome(one, "failed", error="timeout", attempt=1).code == "outcome_conflict"
    assert now(agent, one)["state"] == "allowed"


def test_did_not_happen_on_a_run_that_ended_allows_nothing(agent: AgentHttp, bob: PersonHttp) -> None:
    run = agent.run()["id"]
    one = agent.pause(run, call()).ok(201)["tool_calls"][0]
    bob.decide(one, "approve").ok()
    agent.consume(one, key="first").ok()
    agent.outcome(one, "unknown", error="cut off").ok()
    agent.post(f"/runs/{run}/cancel", {"reason": "stop"}).ok()
    bob.decide(now(agent, one), "did_not_happen").ok()
    assert now(agent, one)["state"] == "skipped"
    assert not Grant.objects.filter(tool_call=one["id"], state="open").exists()
