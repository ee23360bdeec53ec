"""B32: an answer and the deadline meet. One final state, the loser changes nothing, the run follows the winner."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from reviewhub.core.clock import now
from reviewhub.deliveries.models import Email
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.expire import due, expire
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import Decision
from tests.cases.conftest import Exec
from tests.cast import Cast, make_cast
from tests.driver import AgentHttp, PersonHttp, call, policy
from tests.races import decide_expire, scene

HOUR = {"name": "Hour", "tool": "*", "action": "require", "deadline_seconds": 3600}


@pytest.fixture
def waiting(cast: Cast, agent: AgentHttp) -> Any:
    policy(cast.support, HOUR)
    return agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]


def pass_deadline(**ago: int) -> Any:
    """The deadline of the one request has passed by so much."""
    ReviewRequest.objects.update(deadline_at=now() - timedelta(**ago))
    return ReviewRequest.objects.get().pk


@pytest.mark.django_db(transaction=True)
def test_b32_approve_and_expire_at_once() -> None:
    at = scene(make_cast())
    for _ in range(8):
        decide_expire(at)


def test_b32_the_job_twice_and_late(agent: AgentHttp, reviewer: PersonHttp, tool: Exec, waiting: Any) -> None:
    request = pass_deadline(minutes=10)
    assert due() == [request]
    assert expire(request_id=request) is True
    before = list(ReviewRequest.objects.values())
    assert expire(request_id=request) is False
    assert due() == []
    late = reviewer.decide(waiting, "approve")
    assert late.status == 409
    assert late.code in ("already_decided", "expired")
    assert list(ReviewRequest.objects.values()) == before
    assert Decision.objects.get().type == "expire"
    assert Resumption.objects.count() == 1
    assert not tool.attempt(waiting)


def test_b32_the_job_after_an_answer(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, waiting: Any
) -> None:
    reviewer.decide(waiting, "approve").ok()
    request = pass_deadline(minutes=10)
    assert expire(request_id=request) is False
    assert ReviewRequest.objects.get().state == "approved"
    assert Decision.objects.get().type == "approve"
    assert tool.attempt(waiting)


def test_b32_the_job_too_early(agent: AgentHttp, reviewer: PersonHttp, tool: Exec, waiting: Any) -> None:
    assert expire(request_id=ReviewRequest.objects.get().pk) is False
    reviewer.decide(waiting, "approve").ok()
    assert tool.attempt(waiting)


@pytest.mark.parametrize("type_", ["approve", "reject"])
def test_b32_an_answer_after_the_deadline_before_the_job(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, waiting: Any, type_: str
) -> None:
    request = pass_deadline(seconds=1)
    late = reviewer.decide(waiting, type_)
    assert (late.status, late.code) == (409, "expired")
    assert ReviewRequest.objects.get().state == "pending"
    assert not tool.attempt(waiting)
    assert expire(request_id=request) is True
    settled = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert (settled["state"], settled["decision"]["type"]) == ("denied", "expire")
    assert not tool.attempt(waiting)


def test_b32_a_fallback_that_lets_it_run(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    agent.put("/tools/refund", {"effect": "once", "schema": {}}).ok()
    policy(cast.support, {**HOUR, "on_timeout": "allow"})
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    request = pass_deadline(seconds=1)
    assert reviewer.decide(waiting, "reject").code == "expired"
    assert expire(request_id=request) is True
    assert expire(request_id=request) is False
    assert tool.attempt(waiting)
    assert not tool.attempt(waiting)
    assert len(tool.ran) == 1


def test_b32_the_clock_starts_when_the_request_is_there(cast: Cast, agent: AgentHttp, waiting: Any) -> None:
    """Notifying is an outbox row of the same commit: however slow it is, it takes no time from anybody."""
    row = ReviewRequest.objects.get()
    assert row.deadline_at is not None
    assert abs((row.deadline_at - row.created_at) - timedelta(hours=1)) < timedelta(seconds=5)
    assert Email.objects.filter(sent_at__isnull=True).exists()


def test_b32_an_agent_cannot_shorten_a_deadline_that_means_yes(cast: Cast, agent: AgentHttp) -> None:
    agent.put("/tools/refund", {"effect": "once", "schema": {}}).ok()
    policy(cast.support, {**HOUR, "on_timeout": "allow"})
    agent.pause(agent.run()["id"], call(deadline="PT1S")).ok(201)
    row = ReviewRequest.objects.get()
    assert row.deadline_at is not None
    assert row.deadline_at - now() > timedelta(minutes=50)
