"""B33: what a deadline decided is never shown as if a person had."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from reviewhub.audit.models import Event, EventPayload
from reviewhub.core.clock import now
from reviewhub.reviews.expire import due, expire
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.toolcalls.models import Decision
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy

HUMAN_WORDS = ("declined", "rejected", "human decision", "the reviewer", "approved by", "their words")


@pytest.fixture(params=["deny", "allow"])
def expired(request: pytest.FixtureRequest, cast: Cast, agent: AgentHttp) -> Any:
    """A call whose request expired, for both fallbacks."""
    agent.put("/tools/refund", {"effect": "once", "schema": {}}).ok()
    rule = {
        "name": "Hour",
        "tool": "*",
        "action": "require",
        "deadline_seconds": 3600,
        "on_timeout": request.param,
    }
    policy(cast.support, rule)
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    ReviewRequest.objects.update(deadline_at=now() - timedelta(seconds=1))
    assert expire(request_id=ReviewRequest.objects.get().pk)
    return agent.get(f"/tool-calls/{waiting['id']}").ok()


def test_b33_the_agent_is_told_that_nobody_answered(expired: Any) -> None:
    decision = expired["decision"]
    assert decision["type"] == "expire"
    assert decision["by"]["kind"] == "timeout"
    assert decision["by"].get("name", "") == "", "nobody decided, so nobody is named"
    assert "Nobody reviewed" in expired["model_text"]
    assert "in time" in expired["model_text"]
    assert not [word for word in HUMAN_WORDS if word in expired["model_text"].lower()]
    assert expired.get("votes", []) == []


def test_b33_the_record_names_no_person(expired: Any) -> None:
    row = Decision.objects.get()
    assert (row.by_kind, row.by_id) == ("timeout", None)
    (event,) = Event.objects.filter(request_id=ReviewRequest.objects.get().pk, actor_kind="timeout")
    assert event.actor_id is None
    assert EventPayload.objects.get(event=event).actor_name == "system (timeout)"


def test_b33_it_is_no_review(expired: Any, reviewer: PersonHttp) -> None:
    assert not Review.objects.exists()
    shown = reviewer.get(f"/requests/{ReviewRequest.objects.get().pk}").ok()
    assert shown["state"] == "expired"
    assert shown["votes"] == []
    assert shown["decision"]["by"]["kind"] == "timeout"
    assert shown.get("decided_by", "") in ("", "system (timeout)")


def test_b33_pages_have_nobody_to_name(expired: Any, reviewer: PersonHttp, cast: Cast) -> None:
    number = ReviewRequest.objects.get().number
    page = reviewer.client.get(f"/{cast.workspace.slug}/requests/{number}")
    assert page.status_code == 200
    text = page.content.decode()
    assert "system (timeout)" in text or "Nobody reviewed" in text
    # Words, since a form's token may hold any three letters.
    assert not re.findall(r"\b(?:Approved by|Rejected by|Bob)\b", text.split("<main")[1])


def test_b33_replays_change_nothing(expired: Any) -> None:
    def everything() -> list[Any]:
        return [
            list(model.objects.order_by("pk").values()) for model in (ReviewRequest, Decision, Event, Review)
        ]

    before = everything()
    assert due() == []
    for _ in range(2):
        assert expire(request_id=ReviewRequest.objects.get().pk) is False
    assert everything() == before


@pytest.mark.parametrize("fallback", ["deny", "allow"])
def test_b33_one_approval_of_two_is_no_decision_and_no_silence(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, fallback: str
) -> None:
    """Somebody did review: neither the agent nor a page is told that nobody had, nor that they decided."""
    agent.put("/tools/refund", {"effect": "once", "schema": {}}).ok()
    two = {"name": "Two", "tool": "*", "action": "require", "approvals": 2, "deadline_seconds": 3600}
    policy(cast.support, {**two, "on_timeout": fallback})
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    assert reviewer.decide(waiting, "approve").ok()["state"] == "pending"
    ReviewRequest.objects.update(deadline_at=now() - timedelta(seconds=1))
    assert expire(request_id=ReviewRequest.objects.get().pk)
    told = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert told["decision"]["by"] == {"kind": "timeout", "name": ""}
    assert told["model_text"].startswith("Not enough people reviewed the call of refund in time.")
    assert not [word for word in HUMAN_WORDS if word in told["model_text"].lower()]
    page = reviewer.client.get(f"/{cast.workspace.slug}/requests/{ReviewRequest.objects.get().number}")
    assert "not answered in time" in page.content.decode()
    assert "nobody answered" not in page.content.decode().lower()
    live = f"/{cast.workspace.slug}/requests/{ReviewRequest.objects.get().number}/live"
    banner = reviewer.client.get(f"{live}?version=1&open=1&mode=approve&typed=1").content.decode()
    assert "It was <bdi>not answered in time</bdi>" in banner or "It was not answered in time" in banner
    said = EventPayload.objects.get(event__kind="request.decided").sentence
    assert "not answered in time" in said and "obody" not in said
