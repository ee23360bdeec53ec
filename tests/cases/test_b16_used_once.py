"""B16: one answer answers one gate. What was used for the first never opens the second."""

from __future__ import annotations

from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import Decision, Grant
from tests.cases.conftest import Exec
from tests.driver import AgentHttp, PersonHttp, call
from tests.shared import shared


@shared
def two_gates(agent: AgentHttp, reviewer: PersonHttp, tool: Exec):
    """Gate 1 is approved and used; gate 2, with the very same call, waits."""
    run = agent.run()["id"]
    first_pause = agent.pause(run, call(), key="gate-1").ok(201)
    (first,) = first_pause["tool_calls"]
    reviewer.decide(first, "approve", key="click").ok()
    assert tool.attempt(first)
    parent = agent.get(f"/runs/{run}").ok()["branches"][0]["head"]
    body = {"checkpoint": {"parent": parent, "state": {"n": 2}}, "tool_calls": [call()]}
    second_pause = agent.post(f"/runs/{run}/pauses", body, key="gate-2").ok(201)
    (second,) = second_pause["tool_calls"]
    assert first["digest"] == second["digest"], "the gates differ by nothing but their ids"
    return first_pause, first, second_pause, second


def still_waits(agent: AgentHttp, pause, waiting, tool: Exec) -> None:
    assert agent.get(f"/pauses/{pause['id']}").ok()["state"] == "waiting"
    assert ReviewRequest.objects.get(tool_call=waiting["id"]).state == "pending"
    assert not Decision.objects.filter(tool_call=waiting["id"]).exists()
    assert not Grant.objects.filter(tool_call=waiting["id"]).exists()
    assert not tool.attempt(waiting)
    assert len(tool.ran) == 1


def test_b16_nothing_that_was_used_opens_the_next_gate(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, two_gates
) -> None:
    first_pause, first, second_pause, second = two_gates
    run = first_pause["run"]
    # Retry of the first pause, of the first decision, of the first consume, and empty resumes.
    assert agent.pause(run, call(), key="gate-1").ok(200)["id"] == first_pause["id"]
    reviewer.decide(first, "approve", key="click")
    reviewer.decide(first, "approve")
    agent.consume(first)
    agent.post(f"/branches/{Branch.objects.get().pk}/resume", {})
    agent.get("/resumptions").ok()
    still_waits(agent, second_pause, second, tool)


def test_b16_the_key_of_the_first_decision_is_no_decision_on_the_second(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, two_gates
) -> None:
    _, first, second_pause, second = two_gates
    refused = reviewer.decide({**second, "digest": "sha256:" + "0" * 64}, "approve", key="click")
    assert refused.status == 409
    still_waits(agent, second_pause, second, tool)


def test_b16_the_first_decision_sent_again_is_refused(reviewer: PersonHttp, two_gates) -> None:
    _, first, _, _ = two_gates
    again = reviewer.decide(first, "approve", key="another click")
    assert (again.status, again.code) == (409, "already_decided")


def test_b16_the_waking_of_the_first_gate_is_used_up(agent: AgentHttp, tool: Exec, two_gates) -> None:
    from reviewhub.resumptions.claim import claim

    _, _, second_pause, second = two_gates
    (first_waking,) = Resumption.objects.all()
    assert first_waking.state == "done"
    for kind in ("poll", "hosted"):
        Resumption.objects.filter(pk=first_waking.pk).update(kind=kind)
        assert claim(resumption_id=first_waking.pk, owner="a worker", seconds=60) is None
    assert agent.get("/resumptions").ok()["items"] == []
    still_waits(agent, second_pause, second, tool)


def test_b16_a_grant_runs_one_call_once(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, two_gates
) -> None:
    _, first, _, second = two_gates
    assert not tool.attempt(first)
    reviewer.decide(second, "approve").ok()
    assert not tool.attempt(first)
    assert tool.attempt(second)
    assert not tool.attempt(second)
    assert len(tool.ran) == 2


def test_b16_the_agent_cannot_finish_past_the_gate(agent: AgentHttp, tool: Exec, two_gates) -> None:
    _, _, second_pause, second = two_gates
    refused = agent.post(f"/branches/{Branch.objects.get().pk}/finish", {"result": None})
    assert refused.status == 409
    still_waits(agent, second_pause, second, tool)


def test_b16_a_call_under_way_is_not_started_by_another_process(
    agent: AgentHttp, reviewer: PersonHttp, two_gates
) -> None:
    """Gate 2 is approved and consumed; its outcome is still out when a second process tries."""
    _, _, _, second = two_gates
    reviewer.decide(second, "approve").ok()
    assert agent.consume(second, key="in memory").status == 200
    assert agent.consume(second, key="in memory").status == 200, "the same process asks again"
    assert agent.consume(second).code == "already_consumed"
