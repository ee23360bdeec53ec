"""B11: after an edit the agent is told what was really executed; asking for the first call again is seen as that."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import Any

import pytest
from reviewhub_agents import transcript, wire
from reviewhub_agents.runtime.messages import call_of
from reviewhub_agents.runtime.results import result_of

from reviewhub.audit.models import Event
from reviewhub.core import clock
from reviewhub.reviews.expire import expire
from reviewhub.reviews.models import PostReview, ReviewRequest
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy
from tests.shared import shared

ORIGINAL = {"amount": 100, "to": "ACME"}
CUT = {"changes": [{"op": "set", "path": "/amount", "value": 10}], "message": "limit is 10"}


@shared
def edited(agent: AgentHttp, reviewer: PersonHttp, tool: Exec) -> Any:
    """A transfer that a person cut down and the tool has made."""
    run = agent.run()["id"]
    (asked,) = agent.pause(run, call("transfer", arguments=ORIGINAL)).ok(201)["tool_calls"]
    reviewer.decide(asked, "edit", **CUT).ok()
    assert tool.attempt(asked)
    return agent.get(f"/tool-calls/{asked['id']}").ok()


def test_b11_the_agent_gets_what_ran_that_it_was_changed_and_why(edited: Any, tool: Exec) -> None:
    assert [json.loads(text) for text in tool.ran] == [{"amount": 10, "to": "ACME"}]
    assert edited["decision"]["type"] == "edit"
    assert edited["decision"]["edited"] is True
    assert edited["decision"]["message"] == "limit is 10"
    for words in ('"amount":10', '"amount":100', "limit is 10", "Do not issue the original call"):
        assert words in edited["model_text"]
    text = transcript.result_text(wire.ToolCallOut.from_tree(edited))
    assert '"amount":10,' in text
    assert "limit is 10" in text


def test_b11_the_original_call_asked_again_is_reviewed_and_linked(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, edited: Any
) -> None:
    run = ReviewRequest.objects.get().run_id
    again = {"tool_calls": [call("transfer", "other-id", arguments={"amount": 100.0, "to": "ACME"})]}
    (asked,) = agent.post(f"/runs/{run}/pauses", again).ok(201)["tool_calls"]
    assert asked["state"] == "waiting"
    first, second = ReviewRequest.objects.order_by("number")
    assert second.again_of == first
    assert not tool.attempt(asked)
    shown = reviewer.get(f"/requests/{second.pk}").ok()
    assert shown["again_of"] == str(first.pk)
    event = Event.objects.get(kind="request.opened", request_id=second.pk)
    assert json.loads(event.payload.body)["data"]["again_of"] == first.number
    assert len(tool.ran) == 1


def test_b11_what_ran_asked_again_and_other_calls_are_no_repeat(agent: AgentHttp, edited: Any) -> None:
    run = ReviewRequest.objects.get().run_id
    calls = [call("transfer", str(n), arguments={"amount": n, "to": "ACME"}) for n in (10, 99)]
    agent.post(f"/runs/{run}/pauses", {"tool_calls": calls}).ok(201)
    assert set(ReviewRequest.objects.values_list("again_of", flat=True)) == {None}
    other = agent.run()["id"]
    agent.pause(other, call("transfer", arguments=ORIGINAL)).ok(201)
    assert set(ReviewRequest.objects.values_list("again_of", flat=True)) == {None}


def lets_run(cast: Cast, agent: AgentHttp) -> None:
    agent.put("/tools/transfer", {"effect": "once"}).ok(200)
    policy(cast.support, {"name": "Transfers", "tool": "transfer", "action": "allow"})


@pytest.mark.parametrize("amount", [100, 100.0, 1e2])
def test_b11_not_even_a_rule_lets_run_what_a_person_changed(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec, edited: Any, amount: float
) -> None:
    lets_run(cast, agent)
    run = ReviewRequest.objects.get().run_id
    again = {"tool_calls": [call("transfer", "again", arguments={"amount": amount, "to": "ACME"})]}
    (asked,) = agent.post(f"/runs/{run}/pauses", again).ok(201)["tool_calls"]
    assert asked["state"] == "waiting"
    assert "Bob changed exactly this call (#1)." in asked["because"]["text"]
    assert not tool.attempt(asked)
    first, second = ReviewRequest.objects.order_by("number")
    assert second.again_of == first
    reviewer.decide(asked, "approve").ok(200)
    assert tool.attempt(asked)
    again["tool_calls"][0]["call_id"] = "and again"
    (asked,) = agent.post(f"/runs/{run}/pauses", again).ok(201)["tool_calls"]
    assert asked["state"] == "allowed", "the last word was yes"


def test_b11_what_it_was_changed_to_runs_by_the_rule(cast: Cast, agent: AgentHttp, edited: Any) -> None:
    lets_run(cast, agent)
    run = ReviewRequest.objects.get().run_id
    same = {"tool_calls": [call("transfer", "again", arguments={"amount": 10, "to": "ACME"})]}
    (asked,) = agent.post(f"/runs/{run}/pauses", same).ok(201)["tool_calls"]
    assert asked["state"] == "allowed"


def test_b11_an_edit_of_a_spelling_alone_is_a_yes(cast: Cast, agent: AgentHttp, reviewer: PersonHttp) -> None:
    run = agent.run()["id"]
    (asked,) = agent.pause(run, call("transfer", arguments=ORIGINAL)).ok(201)["tool_calls"]
    change = {"changes": [{"op": "set", "path": "/amount", "value": 100.0}]}
    reviewer.decide(asked, "edit", **change).ok()
    agent.post(f"/tool-calls/{asked['id']}/withdraw").ok(200)
    lets_run(cast, agent)
    again = {"tool_calls": [call("transfer", "again", arguments=ORIGINAL)]}
    (asked,) = agent.post(f"/runs/{run}/pauses", again).ok(201)["tool_calls"]
    assert asked["state"] == "allowed"


@pytest.mark.parametrize("answer", ["reject", "edit"])
def test_b11_what_people_said_no_to_and_ran_all_the_same_ran_without_approval(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, answer: str
) -> None:
    run = agent.run()["id"]
    (asked,) = agent.pause(run, call("transfer", arguments=ORIGINAL)).ok(201)["tool_calls"]
    reviewer.decide(asked, answer, **(CUT if answer == "edit" else {"message": "no"})).ok()
    lets_run(cast, agent)
    did = {
        "tool_calls": [{**call("transfer", "did", arguments=ORIGINAL), "outcome": {"status": "succeeded"}}]
    }
    (told,) = agent.post(f"/runs/{run}/observations", did).ok(201)["tool_calls"]
    assert told["ran_without_approval"] is True
    assert PostReview.objects.get().tool_call_id == uuid.UUID(told["id"])


def test_b11_an_edit_that_silence_let_run_is_told_as_one(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    agent.put("/tools/transfer", {"effect": "once"}).ok(200)
    rule = {"name": "Two", "tool": "transfer", "action": "require", "approvals": 2}
    policy(cast.support, {**rule, "deadline_seconds": 60, "on_timeout": "allow"})
    (asked,) = agent.pause(agent.run()["id"], call("transfer", arguments=ORIGINAL)).ok(201)["tool_calls"]
    reviewer.decide(asked, "edit", **CUT).ok(200)
    ReviewRequest.objects.update(deadline_at=clock.now())
    assert expire(request_id=ReviewRequest.objects.get().pk)
    told = agent.get(f"/tool-calls/{asked['id']}").ok()
    assert (told["state"], told["decision"]["type"], told["decision"]["edited"]) == (
        "allowed",
        "expire",
        True,
    )
    assert told["decision"]["arguments"] == {"amount": 10, "to": "ACME"}
    for words in ('"amount":10', '"amount":100', "Bob changed", "Do not issue the original call"):
        assert words in told["model_text"], told["model_text"]
    assert tool.attempt(told)
    assert [json.loads(text) for text in tool.ran] == [{"amount": 10, "to": "ACME"}]


def test_b11_an_edit_that_did_not_happen_at_first_is_told_as_one(
    agent: AgentHttp, reviewer: PersonHttp
) -> None:
    (asked,) = agent.pause(agent.run()["id"], call("transfer", arguments=ORIGINAL)).ok(201)["tool_calls"]
    reviewer.decide(asked, "edit", **CUT).ok(200)
    agent.consume(agent.get(f"/tool-calls/{asked['id']}").ok()).ok(200)
    agent.outcome(asked, "unknown", error="no answer").ok(200)
    unknown = agent.get(f"/tool-calls/{asked['id']}").ok()
    reviewer.decide(unknown, "did_not_happen", message="I looked it up.").ok(200)
    told = agent.get(f"/tool-calls/{asked['id']}").ok()
    assert (told["state"], told["decision"]["type"]) == ("allowed", "did_not_happen")
    assert told["decision"]["arguments"] == {"amount": 10, "to": "ACME"}
    seen = call_of(wire.ToolCallOut.from_tree(told))
    assert seen.decision is not None and seen.decision.edited
    assert result_of(replace(seen, state="succeeded", result="1")).edited
