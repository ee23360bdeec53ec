"""The table of `access.py` against the running API: every endpoint × everybody."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Delegation
from reviewhub.api.urls import urlpatterns
from reviewhub.audit.models import Event
from reviewhub.core.clock import now
from reviewhub.insights.start_backtest import start_backtest
from reviewhub.policies.publish import publish
from reviewhub.policies.save_draft import save_draft
from reviewhub.reviews.models import FollowUp, ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from tests.api.access import ACCESS, PLAN, PUBLIC
from tests.cast import ALICE, Cast
from tests.driver import API, AgentHttp, PersonHttp, Reply, _reply, agent_of, call, observed, staging
from tests.shared import shared
from tests.web.make import standing_approval

METHODS = ("get", "post", "put", "patch", "delete")
REFUSED = {401, 403, 404}


def endpoints() -> set[str]:
    """`METHOD address` of everything that the API answers to."""
    found = set()
    for pattern in urlpatterns:
        view = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
        if view is not None:
            found |= {f"{name.upper()} {pattern.pattern}" for name in METHODS if hasattr(view, name)}
    return found


def test_every_endpoint_has_a_row() -> None:
    assert endpoints() == set(ACCESS) | PUBLIC


@dataclass
class Scene:
    """Things of one agent, and everybody who might want them."""

    ids: dict[str, str]
    everybody: dict[str, Any]


@shared
def scene(cast: Cast) -> Scene:
    own, bob = agent_of(cast.support), PersonHttp(cast.bob)
    run = own.run()
    own.post(f"/runs/{run['id']}/plans", PLAN).ok(201)
    flagged, seen = observed(own, run["id"]), observed(own, run["id"])
    bob.post(f"/observations/{flagged}/grade", {"verdict": "flagged", "severity": "low"}).ok()
    bob.post(f"/observations/{flagged}/follow-up", {"kind": "draft_rule"}).ok()
    paused = own.pause(run["id"], call()).ok(201)
    (waiting,) = paused["tool_calls"]
    question = bob.post(f"/requests/{waiting['request']['id']}/ask", {"text": "why?"}).ok(201)
    branch = Branch.objects.get(run=run["id"])
    own.put(f"/branches/{branch.pk}/records/k", {"value": 1}).ok()
    own.put("/states/refund/1", {"schema": {"type": "object"}}).ok()
    row = ReviewRequest.objects.get(pk=waiting["request"]["id"])
    draft = save_draft(
        workspace=cast.workspace, rules_text='{"rules":[]}', note="", replaces=None, actor=ALICE
    )
    tested = start_backtest(workspace_id=cast.workspace.pk, draft_id=draft.pk, days=1, actor=ALICE)
    lent = Delegation.objects.create(
        workspace=cast.workspace,
        member=cast.bob,
        to=cast.dave,
        # Not yet: who stands in may do what Bob may.
        starts_at=now() + timedelta(days=1),
        ends_at=now() + timedelta(days=2),
    )
    for base in (0, 1):
        text = json.dumps({"rules": [{"name": str(base), "tool": "*", "action": "require"}]})
        publish(workspace=cast.workspace, rules_text=text, note="why", base=base, actor=ALICE)
    ids = {
        "number": "1",
        "draft": str(draft.pk),
        "backtest": str(tested.pk),
        "stand_in": str(lent.pk),
        "standing": str(standing_approval(row, cast.bob).pk),
        "run": run["id"],
        "agent": str(branch.run.agent_id),
        "observation": seen,
        "follow_up": str(FollowUp.objects.get().pk),
        "pause": paused["id"],
        "call": waiting["id"],
        "checkpoint": paused["checkpoint"]["id"],
        "other": paused["checkpoint"]["id"],
        "branch": str(branch.pk),
        "question": question["id"],
        "request_id": waiting["request"]["id"],
        "name": "refund",
        "key": "k",
        "event": str(Event.objects.filter(workspace_id=cast.workspace.pk).latest("id").pk),
        "version": "1",
        "other_version": "1",
    }
    everybody = {
        "y": agent_of(cast.mallory.teams.get(), name="Stranger"),
        "m": PersonHttp(cast.mallory),
        "x": agent_of(cast.support, name="Neighbour"),
        "d": PersonHttp(cast.dave),
        "c": PersonHttp(cast.carol),
        "a": PersonHttp(cast.alice),
        "s": staging(own),
        "b": bob,
        "o": own,
    }
    return Scene(ids=ids, everybody=everybody)


@pytest.mark.parametrize("endpoint", sorted(ACCESS))
def test_only_who_may(endpoint: str, scene: Scene) -> None:
    """The forbidden ones first: whoever may could end what the others ask for."""
    row = ACCESS[endpoint]
    before = ToolCall.objects.values_list("state", "version").get(pk=scene.ids["call"])
    nobody = _send(AgentHttp(token="rh_none"), endpoint, scene.ids, row.body)
    assert nobody == 401
    assert _anonymous(endpoint, scene.ids) == 401
    for letter, who in scene.everybody.items():
        if letter not in row.may:
            status = _send(who, endpoint, scene.ids, row.body)
            assert status in REFUSED, letter
            assert status == 404 or letter != "s" or "o" not in row.may, "a key reaches its environment only"
    assert ToolCall.objects.values_list("state", "version").get(pk=scene.ids["call"]) == before
    for letter, who in scene.everybody.items():
        if letter in row.may:
            status = _send(who, endpoint, scene.ids, row.body)
            assert status not in REFUSED, letter
            assert status < 500, letter


def _address(endpoint: str, ids: dict[str, str]) -> tuple[str, str]:
    method, pattern = endpoint.split(" ", 1)
    return method.lower(), "/" + re.sub(r"<\w+:(\w+)>", lambda match: ids[match[1]], pattern)


def _send(who: AgentHttp | PersonHttp, endpoint: str, ids: dict[str, str], body: Any) -> int:
    method, path = _address(endpoint, ids)
    if method == "get":
        return who.get(path).status
    filled = json.loads(
        re.sub(r"\{(request_id|observation|draft)\}", lambda at: ids[at[1]], json.dumps(body or {}))
    )
    if method == "put":
        return who.put(path, filled).status if isinstance(who, AgentHttp) else _put(who, path, filled)
    return who.post(path, filled).status


def _put(who: PersonHttp, path: str, body: Any) -> int:
    return int(who.client.put(API + path, json.dumps(body), content_type="application/json").status_code)


def _anonymous(endpoint: str, ids: dict[str, str]) -> int:
    method, path = _address(endpoint, ids)
    send = getattr(Client(), method)
    response = (
        send(API + path) if method == "get" else send(API + path, "{}", content_type="application/json")
    )
    return int(response.status_code)


def test_lists_and_bodies_hold_nothing_of_another_environment(scene: Scene) -> None:
    own, other = scene.everybody["o"], scene.everybody["s"]
    assert len(own.get("/questions").ok()["items"]) == 1
    assert other.get("/questions").ok()["items"] == []
    assert own.post("/runs", {"parent": scene.ids["run"]}).status == 201
    assert other.post("/runs", {"parent": scene.ids["run"]}).status == 422
    mine = other.run()["id"]
    foreign = {"parent": scene.ids["checkpoint"], "state": {}}
    assert other.post(f"/runs/{mine}/checkpoints", foreign).status in (404, 409, 422)
    assert other.pause(mine, call(), checkpoint={"id": scene.ids["checkpoint"]}).status in (404, 409, 422)
    scene.everybody["b"].post(
        f"/requests/{scene.ids['request_id']}/decide",
        {"type": "reject", "message": "Not now.", **_shown(scene.ids["request_id"])},
    ).ok()
    assert len(own.get("/resumptions").ok()["items"]) == 1
    assert other.get("/resumptions").ok()["items"] == []


def _shown(request_id: str) -> dict[str, Any]:
    row = ReviewRequest.objects.get(pk=request_id)
    return {"version": row.version, "digest": row.digest}


PEOPLE_ONLY = sorted(name for name, row in ACCESS.items() if not set(row.may) & set("oxys"))
AGENTS_ONLY = sorted(name for name, row in ACCESS.items() if set(row.may) <= set("oxys"))


@pytest.mark.parametrize("endpoint", PEOPLE_ONLY)
def test_a_key_is_told_that_this_is_for_people(endpoint: str, scene: Scene) -> None:
    reply = _reply_to(scene.everybody["o"], endpoint, scene)
    assert (reply.status, reply.code) == (403, "forbidden")
    assert "for people" in reply.json["detail"]


@pytest.mark.parametrize("endpoint", AGENTS_ONLY)
def test_a_session_is_told_that_this_is_for_agents(endpoint: str, scene: Scene) -> None:
    reply = _reply_to(scene.everybody["b"], endpoint, scene)
    assert (reply.status, reply.code) == (403, "forbidden")
    assert "for agents" in reply.json["detail"]


def _reply_to(who: AgentHttp | PersonHttp, endpoint: str, scene: Scene) -> Reply:
    method, path = _address(endpoint, scene.ids)
    headers = {"Authorization": f"Bearer {who.token}"} if isinstance(who, AgentHttp) else {}
    return _reply(who.client.generic(method.upper(), API + path, "{}", "application/json", headers=headers))


@pytest.mark.parametrize("odd", ["abc", "0", "ABCDEF00-0000-4000-8000-000000000000", "x" * 300])
@pytest.mark.parametrize("address", ["runs/<>", "pauses/<>", "requests/<>/decide", "branches/<>/records/a/b"])
def test_what_is_no_id_is_said_to_be_none(address: str, odd: str, client: Client) -> None:
    answer = client.get(f"{API}/{address.replace('<>', odd)}")
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith(f"“{odd[:60]}” is not an id.")


def test_an_address_that_never_is_one_stays_so(client: Client) -> None:
    for address in ("nothing", "runs/abc/nothing", "runs//pauses"):
        assert client.get(f"{API}/{address}").json()["detail"] == "There is no such address in the API."
