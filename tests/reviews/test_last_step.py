"""What a page asks for before an answer counts is asked for whichever way the answer comes."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call
from tests.shared import shared

pytestmark = pytest.mark.django_db

FAILED = [{"name": "Price", "status": "failed"}]


@shared
def agent(cast: Cast) -> AgentHttp:
    """Its `drop` is of critical risk, `note` of low; both must not run twice. `look` runs as often as one likes."""
    made = agent_of(cast.support)
    for name, effect in (("drop", "once"), ("note", "once"), ("look", "idempotent"), ("jot", "once")):
        made.put(f"/tools/{name}", {"effect": effect}).ok()
    Tool.objects.filter(name__in=("drop", "look")).update(risk="critical")
    Tool.objects.filter(name__in=("note", "jot")).update(risk="low")
    return made


@shared
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def asked(agent: AgentHttp, *calls: dict[str, Any]) -> list[Any]:
    return agent.pause(agent.run()["id"], *calls).ok(201)["tool_calls"]


def entry(one: Any, type_: str = "approve", **fields: Any) -> dict[str, Any]:
    shown = {"version": 1, "digest": one["digest"]}
    return {"request": one["request"]["id"], "type": type_, **shown, **fields}


def at(reply: Reply) -> tuple[int, str, str]:
    return reply.status, reply.code, reply.json["errors"][0]["path"]


def untouched() -> bool:
    return not Review.objects.exists() and {*ReviewRequest.objects.values_list("state", "version")} == {
        ("pending", 1)
    }


@pytest.mark.parametrize("wrong", [{}, {"confirm": ""}, {"confirm": "yes"}, {"confirm": "DROP"}])
def test_the_word_is_asked_of_the_api_too(agent: AgentHttp, bob: PersonHttp, wrong: dict[str, str]) -> None:
    (one,) = asked(agent, call("drop", checks=FAILED))
    word = bob.get(f"/requests/{one['request']['id']}").ok()["confirm_with"]
    change = {"changes": [{"op": "set", "path": "/amount", "value": "9.00"}]}
    for type_, fields in (("approve", {}), ("edit", change)):
        refused = bob.decide(one, type_, **fields, **wrong)
        assert at(refused) == (422, "invalid", "/confirm")
        assert word in refused.json["detail"]
    assert untouched()
    assert bob.decide(one, "edit", **change, confirm=word).ok()["state"] == "edited"


def test_who_needs_no_word_is_asked_for_none(agent: AgentHttp, bob: PersonHttp) -> None:
    """Neither what can be done again, nor what has no failed check and no critical risk."""
    for one in asked(agent, call("look", checks=FAILED), call("note")):
        assert "confirm_with" not in bob.get(f"/requests/{one['request']['id']}").ok()
        bob.decide(one, "approve").ok()


@pytest.mark.parametrize("message", [{}, {"message": ""}, {"message": " \n .. \n"}])
def test_a_rejection_has_words(agent: AgentHttp, bob: PersonHttp, message: dict[str, str]) -> None:
    (one,) = asked(agent, call("note"))
    assert at(bob.decide(one, "reject", **message)) == (422, "invalid", "/message")
    (result,) = bob.post("/requests/decide", {"decisions": [entry(one, "reject", **message)]}).json["results"]
    assert (result["status"], result["problem"]["errors"][0]["path"]) == (422, "/message")
    assert untouched()


@pytest.mark.parametrize("type_", ["approve", "edit"])
def test_nothing_dangerous_is_let_run_in_a_list(agent: AgentHttp, bob: PersonHttp, type_: str) -> None:
    """Not even with its word; what the same list says besides counts."""
    drop, checked, fine = asked(
        agent, call("drop"), call("drop", "call_2", checks=FAILED), call("drop", "call_3")
    )
    word = bob.get(f"/requests/{drop['request']['id']}").ok()["confirm_with"]
    change = {"changes": [{"op": "set", "path": "/amount", "value": "9.00"}]} if type_ == "edit" else {}
    Tool.objects.filter(name="drop").update(risk="low")
    ReviewRequest.objects.filter(pk=fine["request"]["id"]).update(risk="low")
    entries = [entry(drop, type_, confirm=word, **change), entry(checked, type_, confirm=word, **change)]
    sent = bob.post("/requests/decide", {"decisions": [*entries, entry(fine)]}).ok(200)
    barred = {"status": 422, "code": "one_by_one", "path": "/type"}
    assert [
        {"status": one["status"], "code": one["problem"]["code"], "path": one["problem"]["errors"][0]["path"]}
        for one in sent["results"][:2]
    ] == [barred, barred]
    assert sent["results"][2]["status"] == 200


def test_a_list_lets_calls_of_one_tool_run(cast: Cast, agent: AgentHttp, bob: PersonHttp) -> None:
    """Requests that the person may not know of tell nothing by it, and a rejection is no approval."""
    note, jot, no = asked(agent, call("note"), call("jot", "call_2"), call("drop", "call_3"))
    both = bob.post("/requests/decide", {"decisions": [entry(note), entry(jot)]})
    assert {one["problem"]["code"] for one in both.json["results"]} == {"one_by_one"}
    assert untouched()
    (theirs,) = asked(agent_of(cast.finance, name="Other"), call("wire"))
    entries = [entry(theirs), entry(note), entry(no, "reject", message="Not this one")]
    sent = bob.post("/requests/decide", {"decisions": entries}).ok(200)
    assert [one["status"] for one in sent["results"]] == [404, 200, 200]


def test_that_a_lost_call_may_run_again_is_said_by_itself(agent: AgentHttp, bob: PersonHttp) -> None:
    (one,) = asked(agent, call("note"))
    bob.decide(one, "approve").ok()
    agent.consume(one).ok()
    agent.outcome(one, "unknown").ok()
    row = ReviewRequest.objects.get(kind="unknown")
    shown = bob.get(f"/requests/{row.pk}").ok()
    assert shown["allowed_decisions"] == ["happened", "did_not_happen", "skip"]
    again = {"request": str(row.pk), "type": "did_not_happen", "version": row.version, "digest": row.digest}
    (result,) = bob.post("/requests/decide", {"decisions": [again]}).json["results"]
    assert result["problem"]["code"] == "one_by_one"
    assert ReviewRequest.objects.get(pk=row.pk).state == "pending"
