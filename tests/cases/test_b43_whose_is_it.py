"""B43: what belongs to another team, agent or workspace does not exist for anybody else, on any way in."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.reviews.models import Comment, Question, Review, ReviewRequest
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Pause, ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, new_id
from tests.shared import shared

MODELS = (ReviewRequest, Review, Comment, Question, Run, Branch, Pause, ToolCall, Checkpoint, Event)


def everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in MODELS]


@shared
def theirs(cast: Cast, agent: AgentHttp) -> dict[str, Any]:
    """What team Support and its agent have: the ids that others try."""
    run = agent.run()["id"]
    paused = agent.pause(run, call()).ok(201)
    return {
        "run": run,
        "pause": paused["id"],
        "checkpoint": paused["checkpoint"]["id"],
        "call": paused["tool_calls"][0],
        "request": paused["tool_calls"][0]["request"]["id"],
        "number": paused["tool_calls"][0]["request"]["number"],
        "branch": str(Branch.objects.get().pk),
    }


@pytest.mark.parametrize("who", ["mallory", "dave"])
def test_b43_people_of_other_teams_and_workspaces(
    cast: Cast, theirs: dict[str, Any], caplog: pytest.LogCaptureFixture, who: str
) -> None:
    person = PersonHttp(cast.people[who])
    before = everything()
    decision = {"type": "approve", "version": 1, "digest": theirs["call"]["digest"]}
    address = f"/requests/{theirs['request']}"
    with caplog.at_level(logging.WARNING, logger="reviewhub"):
        assert person.get(address).status == 404
        assert "refused" in caplog.text, "a denial is logged"
        for act, body in (
            ("decide", decision),
            ("claim", {}),
            ("release", {}),
            ("comment", {"text": "x"}),
            ("ask", {"text": "x"}),
        ):
            assert person.post(f"{address}/{act}", body).status == 404, act
    assert person.get("/requests").ok()["items"] == []
    bulk = person.post("/requests/decide", {"decisions": [{"request": theirs["request"], **decision}]})
    assert bulk.status == 422
    assert bulk.json["results"][0]["status"] == 404
    rewrite = {"changes": [{"op": "set", "path": "/n", "value": 9}], "reason": "x"}
    for path in (f"/checkpoints/{theirs['checkpoint']}/rewrite", f"/checkpoints/{theirs['checkpoint']}/fork"):
        assert person.post(path, rewrite).status in (401, 403, 404), path
    assert everything() == before


def test_b43_a_bulk_with_ids_of_others_touches_none_of_them(cast: Cast, theirs: dict[str, Any]) -> None:
    dave = PersonHttp(cast.dave)
    own_agent = agent_of(cast.finance, name="Finance agent")
    (own,) = own_agent.pause(own_agent.run()["id"], call()).ok(201)["tool_calls"]
    ReviewRequest.objects.update(risk="low", risk_rank=0)
    entries = [
        {"request": one, "type": "approve", "version": 1, "digest": own["digest"]}
        for one in (theirs["request"], own["request"]["id"], new_id())
    ]
    reply = dave.post("/requests/decide", {"decisions": entries}).ok(200)
    assert [one["status"] for one in reply["results"]] == [404, 200, 404]
    problems = [one["problem"] for one in reply["results"] if one["status"] == 404]
    assert problems[0]["detail"] == problems[1]["detail"], "of others and of nothing look the same"
    assert ReviewRequest.objects.get(pk=theirs["request"]).state == "pending"
    assert not Review.objects.filter(request=theirs["request"]).exists()


@pytest.mark.parametrize("whose", ["finance", "mallory", "colleague"])
def test_b43_keys_of_other_agents(cast: Cast, theirs: dict[str, Any], whose: str) -> None:
    team = {"finance": cast.finance, "mallory": cast.mallory.teams.get(), "colleague": cast.support}[whose]
    other = agent_of(team, name="Other agent")
    before = everything()
    call_id, digest = theirs["call"]["id"], theirs["call"]["digest"]
    for path in (
        f"/runs/{theirs['run']}",
        f"/runs/{theirs['run']}/checkpoints",
        f"/pauses/{theirs['pause']}",
        f"/tool-calls/{call_id}",
        f"/checkpoints/{theirs['checkpoint']}",
    ):
        assert other.get(path).status == 404, path
    for path, body in (
        (f"/runs/{theirs['run']}/pauses", {"checkpoint": {"state": {}}, "tool_calls": [call()]}),
        (
            f"/runs/{theirs['run']}/observations",
            {"tool_calls": [{**call(), "outcome": {"status": "succeeded"}}]},
        ),
        (f"/runs/{theirs['run']}/checkpoints", {"state": {}}),
        (f"/runs/{theirs['run']}/cancel", {}),
        (f"/tool-calls/{call_id}/consume", {"digest": digest}),
        (f"/tool-calls/{call_id}/outcome", {"status": "succeeded"}),
        (f"/tool-calls/{call_id}/progress", {"partial": 1}),
        (f"/tool-calls/{call_id}/withdraw", {}),
        (f"/checkpoints/{theirs['checkpoint']}/fork", {"branch": "mine"}),
        (f"/branches/{theirs['branch']}/claim", {}),
        (f"/branches/{theirs['branch']}/heartbeat", {}),
        (f"/branches/{theirs['branch']}/finish", {}),
        (f"/branches/{theirs['branch']}/fail", {"error": "x"}),
    ):
        refused = other.post(path, body)
        assert refused.status == 404, (path, refused.status, refused.json)
    assert other.get("/resumptions").ok()["items"] == []
    assert everything() == before


def test_b43_another_agents_checkpoint_in_the_body(cast: Cast, theirs: dict[str, Any]) -> None:
    other = agent_of(cast.finance, name="Other agent")
    run = other.run()["id"]
    for checkpoint in ({"id": theirs["checkpoint"]}, {"parent": theirs["checkpoint"], "state": {}}):
        refused = other.pause(run, call(), checkpoint=checkpoint)
        assert refused.status in (404, 409, 422), refused.json
    assert not Pause.objects.filter(run=run).exists()


def test_b43_an_agent_cannot_decide(agent: AgentHttp, theirs: dict[str, Any]) -> None:
    decision = {"type": "approve", "version": 1, "digest": theirs["call"]["digest"]}
    for path, body in (
        (f"/requests/{theirs['request']}/decide", decision),
        ("/requests/decide", {"decisions": [{"request": theirs["request"], **decision}]}),
    ):
        assert agent.post(path, body).status in (401, 403, 404)
    assert ReviewRequest.objects.get().state == "pending"


def test_b43_a_wrong_key_is_refused_before_the_body_is_read(agent: AgentHttp, theirs: dict[str, Any]) -> None:
    for token in ("", "rh_pro_" + "a" * 49, agent.token + "x", agent.token[:-1], agent.token.upper()):
        refused = AgentHttp(token=token).post("/runs", raw=b"{ this is no JSON")
        assert refused.status == 401, token
        assert refused.headers.get("WWW-Authenticate", "").startswith("Bearer")


def test_b43_pages(cast: Cast, theirs: dict[str, Any]) -> None:
    mallory, dave = PersonHttp(cast.mallory), PersonHttp(cast.dave)
    for person in (mallory, dave):
        for path in (
            f"/northwind/requests/{theirs['number']}",
            f"/northwind/requests/{theirs['number']}/peek",
        ):
            assert person.client.get(path).status_code == 404, path
        assert (
            person.client.post(
                f"/northwind/requests/{theirs['number']}/decide", {"type": "approve"}
            ).status_code
            == 404
        )
    assert mallory.client.get("/northwind/queue").status_code == 404
    assert ReviewRequest.objects.get().state == "pending"
