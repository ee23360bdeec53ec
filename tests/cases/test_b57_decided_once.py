"""B57: a decision is made once, however often and from wherever it is sent; everybody else is told who was first."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import Comment, Question, Review, ReviewRequest
from reviewhub.toolcalls.models import Decision
from tests.cases.conftest import Exec
from tests.cast import Cast, make_cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.racing import together
from tests.shared import shared


@shared
def waiting(agent: AgentHttp) -> Any:
    return agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]


def decided_once() -> None:
    assert ReviewRequest.objects.get().state == "approved"
    assert Review.objects.count() == 1
    assert Decision.objects.count() == 1
    assert Resumption.objects.count() == 1


def test_b57_sent_twice_with_one_key(reviewer: PersonHttp, waiting: Any) -> None:
    first = reviewer.decide(waiting, "approve", key="click").ok()
    assert reviewer.decide(waiting, "approve", key="click").ok() == first
    decided_once()


def test_b57_sent_twice_with_two_keys(reviewer: PersonHttp, waiting: Any) -> None:
    reviewer.decide(waiting, "approve").ok()
    again = reviewer.decide(waiting, "approve")
    assert (again.status, again.code) == (409, "already_decided")
    decided_once()


def test_b57_one_key_for_two_different_answers(reviewer: PersonHttp, waiting: Any) -> None:
    reviewer.decide(waiting, "approve", key="click").ok()
    assert reviewer.decide(waiting, "reject", key="click").status == 409
    decided_once()


def test_b57_without_a_key_nothing_happens(reviewer: PersonHttp, waiting: Any) -> None:
    body = {"type": "approve", "version": 1, "digest": waiting["digest"]}
    refused = reviewer.client.post(
        f"/api/v1/requests/{waiting['request']['id']}/decide", body, content_type="application/json"
    )
    assert refused.status_code in (400, 422)
    assert ReviewRequest.objects.get().state == "pending"


@pytest.mark.django_db(transaction=True)
def test_b57_a_double_click() -> None:
    cast = make_cast()
    agent = agent_of(cast.support)
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    one, two = PersonHttp(cast.bob), PersonHttp(cast.bob)
    replies = together(
        lambda: one.decide(waiting, "approve", key="click"),
        lambda: two.decide(waiting, "approve", key="click"),
    )
    assert {reply.status for reply in replies} <= {200, 409}, replies
    assert 200 in {reply.status for reply in replies}
    decided_once()


@pytest.mark.django_db(transaction=True)
def test_b57_two_tabs_of_one_person() -> None:
    cast = make_cast()
    agent = agent_of(cast.support)
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    one, two = PersonHttp(cast.bob), PersonHttp(cast.bob)
    replies = together(lambda: one.decide(waiting, "approve"), lambda: two.decide(waiting, "approve"))
    assert sorted(reply.status for reply in replies) == [200, 409], replies
    decided_once()


def test_b57_others_are_told_who_and_when(cast: Cast, reviewer: PersonHttp, waiting: Any) -> None:
    cast.dave.teams.add(cast.support)
    dave = PersonHttp(cast.dave)
    reviewer.decide(waiting, "approve").ok()
    late = dave.decide(waiting, "reject", message="Not now.")
    assert (late.status, late.code) == (409, "already_decided")
    assert late.json["by"] == "Bob"
    assert late.json["decided_at"].endswith("Z")
    assert late.json["state"] == "approved"
    decided_once()


def test_b57_a_decided_card_does_not_come_back(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec, waiting: Any
) -> None:
    """Open, decide, go back, reload, send the old form again: the server says what is."""
    from tests.web.test_review import form_of

    address = f"/{cast.workspace.slug}/requests/{waiting['request']['number']}"
    form = form_of(reviewer.client.get(f"{address}?mode=approve").content.decode())
    form["sure"] = form["digest"]
    assert reviewer.client.post(f"{address}/decide", form).status_code == 302
    decided_once()
    for _ in range(2):
        page = reviewer.client.get(address).content.decode()
        assert 'id="decide-form"' not in page
        assert "Bob" in page
    again = reviewer.client.post(f"{address}/decide", {**form, "key": "another-click"})
    assert again.status_code == 409
    repeated = reviewer.client.post(f"{address}/decide", form)
    assert repeated.status_code in (302, 409)
    decided_once()
    assert tool.attempt(waiting)
    assert not tool.attempt(waiting)


def test_b57_a_conflict_keeps_what_was_typed(cast: Cast, reviewer: PersonHttp, waiting: Any) -> None:
    from tests.web.test_review import form_of

    cast.dave.teams.add(cast.support)
    dave = PersonHttp(cast.dave)
    address = f"/{cast.workspace.slug}/requests/{waiting['request']['number']}"
    form = form_of(dave.client.get(f"{address}?mode=reject").content.decode())
    reviewer.decide(waiting, "approve").ok()
    answer = dave.client.post(f"{address}/decide", {**form, "message": "a long and careful reason"})
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "a long and careful reason" in page
    assert "Bob" in page
    decided_once()


def test_b57_a_stale_version_is_refused(reviewer: PersonHttp, waiting: Any) -> None:
    for stale in ({"version": 2}, {"version": 99}, {"digest": "sha256:" + "0" * 64}):
        refused = reviewer.decide({**waiting, **stale}, "approve")
        assert (refused.status, refused.code) == (409, "changed"), stale
    assert ReviewRequest.objects.get().state == "pending"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["comment", "ask"])
def test_b57_a_double_click_on_a_comment_or_a_question(what: str) -> None:
    cast = make_cast()
    agent = agent_of(cast.support)
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    one, two = PersonHttp(cast.bob), PersonHttp(cast.bob)
    path, body = f"/requests/{waiting['request']['id']}/{what}", {"text": "Why so much?"}
    replies = together(
        lambda: one.post(path, body, key="click"),
        lambda: two.post(path, body, key="click"),
    )
    assert [reply.status for reply in replies] == [201, 201], replies
    assert replies[0].json == replies[1].json
    assert one.post(path, {"text": "Another one."}, key="click").status == 409
    assert (Comment if what == "comment" else Question).objects.count() == 1
    one.post(path, body).ok()
    assert (Comment if what == "comment" else Question).objects.count() == 2


@pytest.mark.parametrize(("what", "name"), [("comment", "text"), ("ask", "message")])
def test_b57_the_form_of_a_message_sent_twice(
    reviewer: PersonHttp, cast: Cast, waiting: Any, what: str, name: str
) -> None:
    address = f"/{cast.workspace.slug}/requests/{waiting['request']['number']}"
    page = reviewer.client.get(f"{address}?mode=ask").content.decode()
    (form,) = re.findall(rf'<form[^>]*action="{address}/{what}".*?</form>', page, re.DOTALL)
    (key,) = re.findall(r'name="key" value="([^"]+)"', form)
    for text in ("Why?", "Why?", "And who asked?"):
        assert reviewer.client.post(f"{address}/{what}", {name: text, "key": key}).status_code == 302
    assert (Comment if what == "comment" else Question).objects.count() == 2
