"""B59: a rejection says that a person decided, that nothing ran and what not to do, with or without a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.reviews.models import ReviewRequest
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy

DEPLOY = {"to": "prod", "build": 7}


def rejected(agent: AgentHttp, reviewer: PersonHttp, words: str) -> Any:
    (asked,) = agent.pause(agent.run()["id"], call("deploy", arguments=DEPLOY)).ok(201)["tool_calls"]
    reviewer.decide(asked, "reject", message=words).ok()
    return agent.get(f"/tool-calls/{asked['id']}").ok()


WORDS = "use staging, not prod \u2602"


def test_b59_the_model_is_told_who_said_no_why_and_not_to_repeat(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    found = rejected(agent, reviewer, WORDS)
    said = found["model_text"]
    for part in ("Bob rejected the call of deploy", "was not executed", "human decision", "Do not ask"):
        assert part in said, said
    assert f"Their words: {WORDS}" in said
    assert found["decision"]["message"] == WORDS
    assert not tool.attempt(found)


@pytest.mark.parametrize("words", [{}, {"message": ""}, {"message": " \n"}], ids=str)
def test_b59_a_no_without_a_reason_is_none(
    agent: AgentHttp, reviewer: PersonHttp, words: dict[str, str]
) -> None:
    (asked,) = agent.pause(agent.run()["id"], call("deploy", arguments=DEPLOY)).ok(201)["tool_calls"]
    refused = reviewer.decide(asked, "reject", **words)
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, "/message")
    assert ReviewRequest.objects.get().state == "pending"


def test_b59_the_same_again_is_linked_to_the_no_and_another_call_is_new(
    agent: AgentHttp, reviewer: PersonHttp
) -> None:
    rejected(agent, reviewer, WORDS)
    first = ReviewRequest.objects.get()
    calls = [call("deploy", "a", arguments=DEPLOY), call("deploy", "b", arguments={**DEPLOY, "build": 8})]
    agent.post(f"/runs/{first.run_id}/pauses", {"tool_calls": calls}).ok(201)
    again, other = ReviewRequest.objects.exclude(pk=first.pk).order_by("number")
    assert (again.again_of, other.again_of) == (first, None)
    chain = {
        json.loads(event.payload.body)["data"]["number"]: json.loads(event.payload.body)["data"]["again_of"]
        for event in Event.objects.filter(kind="request.opened").select_related("payload")
    }
    assert chain == {first.number: None, again.number: first.number, other.number: None}


def test_b59_not_even_a_rule_lets_run_what_a_person_refused(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    agent.put("/tools/deploy", {"effect": "once"}).ok(200, 201)
    rejected(agent, reviewer, "not today")
    policy(cast.support, {"name": "Deploys", "tool": "deploy", "action": "allow"})
    first = ReviewRequest.objects.get()
    again = {"tool_calls": [call("deploy", "a", arguments=DEPLOY)]}
    (asked,) = agent.post(f"/runs/{first.run_id}/pauses", again).ok(201)["tool_calls"]
    assert asked["state"] == "waiting"
    assert not tool.attempt(asked)
    assert ReviewRequest.objects.latest("number").again_of == first
