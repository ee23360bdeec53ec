"""Limits of waiting requests: what waits because nobody knows whether it happened fills people's queue, too."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils.html import strip_tags

from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current_number
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import ToolCall
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call
from tests.racing import together
from tests.shared import shared

RUNS = {"name": "Refunds run", "tool": "refund", "action": "allow"}
WAITS = {"name": "Mails wait", "tool": "mail", "action": "require"}


def published(cast: Cast, most: int) -> None:
    publish(
        workspace=cast.workspace,
        rules_text=json.dumps({"rules": [RUNS, WAITS], "waiting": [{"name": "Few", "most": most}]}),
        note="test",
        base=current_number(cast.workspace.pk),
        actor=ALICE,
    )


def made(cast: Cast) -> AgentHttp:
    agent = agent_of(cast.support)
    for tool in ("refund", "mail"):
        agent.put(f"/tools/{tool}", {"effect": "once"}).ok()
    published(cast, most=2)
    return agent


@shared
def agent(cast: Cast) -> AgentHttp:
    return made(cast)


def started(agent: AgentHttp) -> Any:
    one = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]
    agent.consume(one).ok()
    return one


def lost(agent: AgentHttp) -> Any:
    """A call that started, and of which nobody knows whether it happened."""
    one = started(agent)
    agent.outcome(one, "unknown").ok()
    return agent.get(f"/tool-calls/{one['id']}").ok()


def ask(agent: AgentHttp) -> Reply:
    return agent.pause(agent.run()["id"], call("mail"))


def waiting() -> list[str]:
    return sorted(ReviewRequest.objects.filter(state="pending").values_list("kind", flat=True))


@pytest.mark.django_db
def test_an_unknown_outcome_is_always_asked_about_and_counts_for_what_comes_after(
    agent: AgentHttp, cast: Cast
) -> None:
    calls = [lost(agent) for _ in range(5)]
    assert waiting() == ["unknown"] * 5, "none is refused"
    refused = ask(agent)
    assert (refused.status, refused.code, refused.json["limit"]) == (429, "slow_down", 2)
    assert agent.pause(agent.run()["id"], call("nobody.described.it")).status == 429
    assert agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]["state"] == "allowed"
    bob = PersonHttp(cast.bob)
    for one in calls[:4]:
        bob.decide(one, "happened").ok()
    assert ask(agent).status == 201
    assert ask(agent).status == 429, "one about an outcome and one about a mail wait"


@pytest.mark.django_db
def test_one_that_waits_leaves_room_for_no_more_and_an_outcome_passes_all_the_same(agent: AgentHttp) -> None:
    running = started(agent)
    assert [ask(agent).status for _ in range(3)] == [201, 201, 429]
    agent.outcome(running, "unknown").ok()
    assert waiting() == ["approval", "approval", "unknown"]


@pytest.mark.django_db
def test_what_ran_unasked_and_is_unknown_counts(agent: AgentHttp) -> None:
    for _ in range(2):
        told = {**call(), "outcome": {"status": "unknown"}}
        body = {"tool_calls": [told], "checkpoint": {"state": {}}}
        agent.post(f"/runs/{agent.run()['id']}/observations", body).ok(201)
    assert (waiting(), ask(agent).status) == (["unknown"] * 2, 429)


@pytest.mark.django_db
def test_the_policy_page_shows_what_the_limit_counts(agent: AgentHttp, cast: Cast) -> None:
    lost(agent)
    ask(agent).ok(201)
    page = PersonHttp(cast.bob).client.get("/northwind/policy").content.decode()
    assert "Support agent: 2 of 2 wait" in " ".join(strip_tags(page).split())


@pytest.mark.django_db(transaction=True)
def test_ten_at_once_lose_no_unknown_outcome_and_bring_no_more_than_may_wait(cast: Cast) -> None:
    agent = made(cast)
    running = [started(agent) for _ in range(5)]
    runs = [agent.run()["id"] for _ in range(5)]
    acts: list[Callable[[], Reply]] = []
    for one, run in zip(running, runs, strict=True):
        twin, other = AgentHttp(token=agent.token), AgentHttp(token=agent.token)
        acts.append(lambda twin=twin, one=one: twin.outcome(one, "unknown"))  # type: ignore[misc]
        acts.append(lambda other=other, run=run: other.pause(run, call("mail")))  # type: ignore[misc]
    replies = together(*acts)
    assert all(isinstance(reply, Reply) for reply in replies), replies
    assert {reply.status for reply in replies[::2]} == {200}
    asked = [reply.status for reply in replies[1::2]]
    assert set(asked) <= {201, 429}
    assert asked.count(201) <= 2
    assert waiting() == ["approval"] * asked.count(201) + ["unknown"] * 5
    assert ToolCall.objects.filter(state="unknown").count() == 5
    assert ask(agent).status == 429
