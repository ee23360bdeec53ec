"""B14: of several calls of one turn each has its own answer, and the model gets exactly one result for each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from reviewhub_agents import transcript, wire

from reviewhub.core.clock import now
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.expire import expire
from reviewhub.reviews.models import ReviewRequest
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy
from tests.shared import shared

TOOLS = {"A": "refund", "B": "wire", "C": "read"}


@shared
def turn(cast: Cast, agent: AgentHttp) -> Any:
    """Calls A and B wait for people, C does not."""
    for name in TOOLS.values():
        agent.put(f"/tools/{name}", {"effect": "read" if name == "read" else "once"}).ok(200, 201)
    wait = {"name": "Hour", "tool": "*", "action": "require", "deadline_seconds": 3600}
    policy(cast.support, {"name": "Reads", "tool": "read", "action": "allow"}, wait)
    calls = [call(tool, label) for label, tool in TOOLS.items()]
    paused = agent.pause(agent.run()["id"], *calls).ok(201)
    return {one["call_id"]: one for one in paused["tool_calls"]}


def by_person(reviewer: PersonHttp, asked: Any) -> str:
    reviewer.decide(asked, "reject", message="No, not this one.").ok()
    return "Their words: No, not this one."


def by_nobody(reviewer: PersonHttp, asked: Any) -> str:
    row = ReviewRequest.objects.get(pk=asked["request"]["id"])
    ReviewRequest.objects.filter(pk=row.pk).update(deadline_at=now() - timedelta(seconds=1))
    assert expire(request_id=row.pk)
    return "Nobody reviewed the call"


def settled(agent: AgentHttp, turn: Any) -> list[wire.ToolCallOut]:
    return [wire.ToolCallOut.from_tree(agent.get(f"/tool-calls/{one['id']}").ok()) for one in turn.values()]


@pytest.mark.parametrize("say_no", [by_person, by_nobody], ids=lambda one: one.__name__)
def test_b14_siblings_run_and_every_call_has_one_result(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, turn: Any, say_no: Any
) -> None:
    reviewer.decide(turn["A"], "approve").ok()
    # Half of an answer wakes nobody.
    assert not Resumption.objects.exists()
    assert agent.get("/resumptions").ok()["items"] == []
    words = say_no(reviewer, turn["B"])
    assert len(agent.get("/resumptions").ok()["items"]) == 1
    assert [tool.attempt(turn[label]) for label in "ABC"] == [True, False, True]
    assert [tool.attempt(turn[label]) for label in "ABC"] == [False, False, False]
    calls = settled(agent, turn)
    refused = calls[1].model_text
    assert "It was not executed" in refused
    assert words in refused
    asked = [
        {"id": label, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for label, name in TOOLS.items()
    ]
    said = transcript.openai([{"role": "assistant", "tool_calls": asked}], calls)
    assert [one.get("tool_call_id") for one in said] == [None, "A", "B", "C"]
    assert [words in str(one["content"]) for one in said[1:]] == [False, True, False]
    blocks = [{"type": "tool_use", "id": label, "name": name, "input": {}} for label, name in TOOLS.items()]
    turned = transcript.anthropic([{"role": "assistant", "content": blocks}], calls)
    assert [one["role"] for one in turned] == ["assistant", "user"]
    assert [one["tool_use_id"] for one in turned[1]["content"]] == ["A", "B", "C"]


def test_b14_a_branch_does_not_end_and_does_not_go_on_with_half_an_answer(
    agent: AgentHttp, reviewer: PersonHttp, turn: Any
) -> None:
    reviewer.decide(turn["A"], "approve").ok()
    branch = ReviewRequest.objects.all()[0].branch_id
    assert agent.post(f"/branches/{branch}/finish", {}).code == "unsettled"
    run = ReviewRequest.objects.all()[0].run_id
    assert agent.pause(str(run), call("refund", "D")).code == "branch_paused"


@pytest.mark.parametrize("words", ["no", "n", "No.", "\u4e0d\u884c", "\u041d\u0435\u0442", "\U0001f44e", "7"])
def test_b14_however_short_the_no_is_it_is_heard(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, words: str
) -> None:
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    reviewer.decide(waiting, "reject", message=words).ok()
    told = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert (told["decision"]["message"], words in told["model_text"]) == (words, True)
    assert not tool.attempt(waiting)


@pytest.mark.parametrize(
    "words", ["", " ", "...", "\u200b\u200b\u200b", "\u2800\u3164\u2800", "\u202e\u2066\u00ad", " - "]
)
def test_b14_what_nobody_can_read_is_no_reason(agent: AgentHttp, reviewer: PersonHttp, words: str) -> None:
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    refused = reviewer.decide(waiting, "reject", message=words)
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, "/message")
    assert agent.get(f"/tool-calls/{waiting['id']}").ok()["state"] == "waiting"
