"""B07: what cannot be done is refused; a friendly answer means that it was done, or stood as it is already."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.runs.models import Branch
from reviewhub.runs.quarantine import quarantine
from reviewhub.toolcalls.models import Attempt
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call

FACTS = {"balance": 7}


@pytest.mark.parametrize("verb", ["halt", "resume"])
@pytest.mark.parametrize("end", ["finish", "fail", "cancel"])
def test_b07_what_has_ended_is_neither_halted_nor_resumed(
    agent: AgentHttp, reviewer: PersonHttp, verb: str, end: str
) -> None:
    run = agent.run()
    if end == "cancel":
        agent.post(f"/runs/{run['id']}/cancel").ok(200)
    else:
        body = {"error": "x"} if end == "fail" else {}
        agent.post(f"/branches/{run['branches'][0]['id']}/{end}", body).ok(200)
    answer = reviewer.post(f"/runs/{run['id']}/{verb}", {"reason": "r"})
    assert (answer.status, answer.code) == (409, "run_ended")
    assert answer.json["state"] == agent.get(f"/runs/{run['id']}").json["state"]
    assert not Event.objects.filter(kind__in=["run.halted", "run.resumed"]).exists()


@pytest.mark.parametrize("verb", ["halt", "resume"])
def test_b07_what_is_set_aside_is_neither_halted_nor_resumed(
    agent: AgentHttp, reviewer: PersonHttp, verb: str
) -> None:
    run = agent.run()
    quarantine(branch=Branch.objects.get(), error="x")
    answer = reviewer.post(f"/runs/{run['id']}/{verb}", {"reason": "r"})
    assert (answer.status, answer.code) == (409, "illegal_transition")


def test_b07_halting_twice_and_resuming_twice_stand(agent: AgentHttp, reviewer: PersonHttp) -> None:
    run = agent.run()
    for verb in ("halt", "halt", "resume", "resume"):
        reviewer.post(f"/runs/{run['id']}/{verb}", {"reason": "r"}).ok(200)
    assert Event.objects.filter(kind__in=["run.halted", "run.resumed"]).count() == 2


def test_b07_the_page_says_that_a_run_has_ended(cast: Cast, agent: AgentHttp, reviewer: PersonHttp) -> None:
    run = agent.run()
    agent.post(f"/runs/{run['id']}/cancel").ok(200)
    for verb in ("halt", "resume"):
        address = f"/{cast.bob.workspace.slug}/runs/{run['id']}/{verb}"
        page = reviewer.client.post(address, {"reason": "r"}, follow=True)
        assert "This run is cancelled: nothing of it goes on." in page.content.decode()


@pytest.mark.parametrize("said", [{"balance": 8}, {}, {"balance": "7"}, {"balance": 7, "more": 1}])
def test_b07_a_repeated_start_with_other_facts_is_another_one(
    agent: AgentHttp, reviewer: PersonHttp, said: dict[str, Any]
) -> None:
    (waiting,) = agent.pause(agent.run()["id"], call(facts=FACTS)).ok(201)["tool_calls"]
    reviewer.decide(waiting, "approve").ok(200)
    agent.consume(waiting, key="k", facts=FACTS).ok(200)
    answer = agent.consume(waiting, key="k", facts=said)
    assert (answer.status, answer.code) == (409, "idempotency_conflict")
    agent.consume(waiting, key="k", facts={"balance": 7}).ok(200)
    agent.consume(waiting, key="k").ok(200)
    assert Attempt.objects.count() == 1
