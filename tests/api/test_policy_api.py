"""What the pages of policy do, the API does: by the same verbs, with the same refusals."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from reviewhub.accounts.models import Delegation
from reviewhub.core.clock import now
from reviewhub.insights.work_off import work_off
from reviewhub.policies.models import PolicyVersion
from tests.cast import Cast, make_test_agent
from tests.driver import API, PersonHttp
from tests.insights.make import known_tools, recorded

FREE = {"name": "Free", "tool": "refund", "action": "allow"}
ASKS = {"name": "Asks", "tool": "refund", "action": "require", "team": "Finance", "approvals": 2}


def put(who: PersonHttp, path: str, body: Any) -> tuple[int, Any]:
    answer = who.client.put(API + path, json.dumps(body), content_type="application/json")
    return answer.status_code, answer.json()


@pytest.mark.django_db
def test_a_policy_is_checked_published_and_rolled_back(cast: Cast) -> None:
    alice, bob = PersonHttp(cast.alice), PersonHttp(cast.bob)
    body = {"policy": {"rules": [ASKS]}, "note": "why", "base": 0}
    assert bob.post("/policy/publish", body).status == 403 and not PolicyVersion.objects.exists()
    assert bob.get("/policy").ok() == {"number": 0, "policy": {"rules": []}}
    for path in ("/policy/check", "/policy/publish"):
        wrong = {**body, "policy": {"rules": [{**ASKS, "team": "Fnance"}]}}
        if path.endswith("check"):
            wrong = {"policy": wrong["policy"]}
        refused = alice.post(path, wrong)
        assert refused.status == 422
        assert [one["path"] for one in refused.json["errors"]] == ["/policy/rules/0/team"]
    looked = alice.post("/policy/check", {"policy": body["policy"]}).ok()
    assert looked["changes"] == [{"kind": "added", "layer": "rules", "rule": "Asks", "fields": []}]
    assert [one["code"] for one in looked["cautions"]] == ["matches_nothing", "understaffed"]
    made = alice.post("/policy/publish", body).ok(201)
    assert (made["number"], made["policy"], made["author"]) == (1, {"rules": [ASKS]}, "Alice")
    stale = alice.post("/policy/publish", body)
    assert (stale.status, stale.json["code"]) == (409, "changed")
    assert alice.post("/policy/publish", {**body, "policy": {"rules": [FREE]}, "base": 1}).status == 201
    back = alice.post("/policy/roll-back", {"number": 1, "note": "back", "base": 2}).ok(201)
    assert (back["number"], back["restores"], back["policy"]) == (3, 1, {"rules": [ASKS]})
    assert [one["number"] for one in bob.get("/policy/versions").ok()["items"]] == [3, 2, 1]
    assert bob.get("/policy/versions/2").ok()["policy"] == {"rules": [FREE]}


@pytest.mark.django_db
def test_a_draft_is_kept_put_in_shadow_tested_and_published(cast: Cast) -> None:
    agent = make_test_agent(cast.support)[0]
    known_tools(agent, "refund")
    recorded(agent, "refund", *range(1, 26), decided="approve")
    alice = PersonHttp(cast.alice)
    assert alice.get("/policy/draft").status == 404
    (one,) = alice.get("/policy/suggestions").ok()["items"]
    assert one["approved"] == 25 and one["rule"]["when"][0]["path"] == "amount"
    taken = alice.post("/policy/suggestions/take-up", {"key": one["key"]}).ok()
    assert taken["policy"] == {"rules": [one["rule"]]}
    text = {"rules": [ASKS]}
    assert put(alice, "/policy/draft", {"policy": text})[0] == 409, "one at a time"
    status, draft = put(alice, "/policy/draft", {"policy": text, "replaces": taken["id"], "note": "n"})
    assert (status, draft["state"], draft["base"]) == (200, "draft", 0)
    known = {"draft": draft["id"]}
    assert alice.post("/policy/draft/shadow", {**known, "on": True}).ok()["shadow_calls"] == 0
    assert alice.get("/policy/draft/backtest").status == 404
    begun = alice.post("/policy/draft/backtest", {**known, "days": 30})
    assert (begun.status, begun.json["total"], begun.json["state"]) == (202, 25, "open")
    work_off(begun.json["id"])
    done = alice.get("/policy/draft/backtest").ok()
    assert (done["state"], done["looked_at"], done["waits_then"]) == ("done", 25, 25)
    assert done["groups"][0]["change"] == "rerouted" and len(done["groups"][0]["tool_calls"]) == 10
    assert {one["team"]: one["extra_minutes"] > 0 for one in done["teams"]} == {
        "Finance": True,
        "Support": False,
    }
    assert alice.post(f"/policy/backtests/{done['id']}/cancel").status == 409
    made = alice.post("/policy/draft/publish", {**known, "note": "why", "base": 0}).ok(201)
    assert (made["number"], made["policy"]) == (1, text)
    assert alice.post("/policy/draft/discard", known).status == 409


@pytest.mark.django_db
def test_votes_are_lent_and_taken_back(cast: Cast) -> None:
    bob, dave = PersonHttp(cast.bob), PersonHttp(cast.dave)
    times = {"starts_at": now().isoformat(), "ends_at": (now() + timedelta(days=1)).isoformat()}
    assert bob.post("/stand-ins", {"to": "nobody@example.com", **times}).json["errors"][0]["path"] == "/to"
    made = bob.post("/stand-ins", {"to": cast.dave.person.email, **times}).ok(201)
    assert (made["member"], made["to"]) == ("Bob", "Dave")
    assert dave.get("/stand-ins").ok()["items"] == [made]
    assert dave.post(f"/stand-ins/{made['id']}/end").status == 404, "it is Bob's"
    assert "ended_at" in bob.post(f"/stand-ins/{made['id']}/end").ok()
    assert Delegation.objects.get().ended_at is not None
