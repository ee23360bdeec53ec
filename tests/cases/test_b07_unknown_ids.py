"""B07: an answer to something that does not exist is an error that names it, never a silent success."""

from __future__ import annotations

import json

import pytest

from reviewhub.reviews.models import Review, ReviewRequest
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, new_id, policy


def answer_of(waiting, **fields):
    return {
        "request": waiting["request"]["id"],
        "type": "approve",
        "version": 1,
        "digest": waiting["digest"],
        **fields,
    }


def test_b07_only_the_id_of_a_request_is_one(cast: Cast, agent: AgentHttp, reviewer: PersonHttp) -> None:
    run = agent.run()["id"]
    paused = agent.pause(run, call()).ok(201)
    (waiting,) = paused["tool_calls"]
    other = agent_of(cast.mallory.teams.get())
    (elsewhere,) = other.pause(other.run()["id"], call()).ok(201)["tool_calls"]
    wrong_ids = [
        new_id(),
        paused["id"],
        waiting["id"],
        run,
        paused["checkpoint"]["id"],
        elsewhere["request"]["id"],
    ]
    decision = {"type": "approve", "version": 1, "digest": waiting["digest"]}
    for wrong in wrong_ids:
        for act, body in (
            ("decide", decision),
            ("claim", {}),
            ("comment", {"text": "x"}),
            ("ask", {"text": "x"}),
        ):
            assert reviewer.post(f"/requests/{wrong}/{act}", body).status == 404, (wrong, act)
        assert reviewer.get(f"/requests/{wrong}").status == 404
    assert set(ReviewRequest.objects.values_list("state", flat=True)) == {"pending"}
    assert not Review.objects.exists()


def test_b07_what_is_no_id_is_not_found(reviewer: PersonHttp) -> None:
    for wrong in ("1", "first", "%00", "0" * 32 + "g"):
        assert reviewer.post(f"/requests/{wrong}/decide", {"type": "approve"}).status == 404, wrong


def test_b07_a_bulk_says_what_became_of_each(agent: AgentHttp, reviewer: PersonHttp) -> None:
    first, second = agent.pause(agent.run()["id"], call(call_id="a"), call(call_id="b")).ok(201)["tool_calls"]
    missing = new_id()
    ReviewRequest.objects.update(risk="low", risk_rank=0)
    entries = [answer_of(first), {**answer_of(second), "request": missing}]
    reply = reviewer.post("/requests/decide", {"decisions": entries}).ok(200)
    assert [(one["request"], one["status"]) for one in reply["results"]] == [
        (first["request"]["id"], 200),
        (missing, 404),
    ]
    assert reply["results"][1]["problem"]["code"] == "not_found"
    assert ReviewRequest.objects.get(tool_call=first["id"]).state == "approved"
    assert ReviewRequest.objects.get(tool_call=second["id"]).state == "pending"


def test_b07_a_bulk_in_which_nothing_counts_is_no_success(agent: AgentHttp, reviewer: PersonHttp) -> None:
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    entries = [{**answer_of(waiting), "request": new_id()} for _ in range(2)]
    reply = reviewer.post("/requests/decide", {"decisions": entries})
    assert reply.status == 422
    assert [one["status"] for one in reply.json["results"]] == [404, 404]
    assert ReviewRequest.objects.get().state == "pending"


def test_b07_an_empty_bulk_is_no_success(reviewer: PersonHttp) -> None:
    for decisions in ([], {}, None, "all", [None], ["approve"]):
        assert reviewer.post("/requests/decide", {"decisions": decisions}).status in (400, 422), decisions


ANSWERS = [
    {},
    [],
    {"0123456789abcdef0123456789abcdef": 1},
    {"decision": "approve"},
    {"resume": {"x": 1}},
    [{"type": "approve"}],
]


@pytest.mark.parametrize("value", ANSWERS, ids=json.dumps)
def test_b07_an_answer_that_looks_like_something_else_is_data(
    agent: AgentHttp, reviewer: PersonHttp, value: object
) -> None:
    first, second = agent.pause(agent.run()["id"], call(call_id="a"), call(call_id="b")).ok(201)["tool_calls"]
    reviewer.decide(first, "respond", value=value).ok()
    assert agent.get(f"/tool-calls/{first['id']}").ok()["decision"]["value"] == value
    assert agent.get(f"/tool-calls/{second['id']}").ok()["state"] == "waiting"


def test_b07_an_answer_keyed_by_the_id_of_a_sibling_is_data_too(
    agent: AgentHttp, reviewer: PersonHttp
) -> None:
    first, second = agent.pause(agent.run()["id"], call(call_id="a"), call(call_id="b")).ok(201)["tool_calls"]
    value = {second["request"]["id"]: "approve", second["id"]: True}
    reviewer.decide(first, "respond", value=value).ok()
    assert agent.get(f"/tool-calls/{first['id']}").ok()["decision"]["value"] == value
    assert agent.get(f"/tool-calls/{second['id']}").ok()["state"] == "waiting"


def test_b07_agents_are_told_of_unknown_calls(agent: AgentHttp) -> None:
    for act, body in (
        ("consume", {"digest": "sha256:" + "0" * 64}),
        ("outcome", {"status": "succeeded"}),
        ("progress", {"partial": 1}),
        ("withdraw", {}),
    ):
        assert agent.post(f"/tool-calls/{new_id()}/{act}", body).status == 404, act


def test_b07_agents_are_told_of_unknown_things(agent: AgentHttp) -> None:
    for address in (
        f"/pauses/{new_id()}",
        f"/runs/{new_id()}",
        f"/checkpoints/{new_id()}",
        f"/tool-calls/{new_id()}",
    ):
        assert agent.get(address).status == 404
    assert agent.pause(new_id(), call()).status == 404
    assert agent.post(f"/branches/{new_id()}/finish", {}).status == 404


def test_b07_a_state_of_standing_approvals_that_there_is_not(reviewer: PersonHttp) -> None:
    for state in ("nope", "", "ALL", "all "):
        refused = reviewer.get(f"/standing-approvals?state={state}")
        assert (refused.status, refused.json.get("errors", [{}])[0].get("path")) == (422, "/query/state"), (
            state
        )
    assert reviewer.get("/standing-approvals?state=all").status == 200


def test_b07_what_names_the_wrong_thing_is_told_where(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, admin: PersonHttp
) -> None:
    run, other = agent.run()["id"], agent.run()["id"]
    here, there = (
        agent.post(f"/runs/{one}/checkpoints", {"state": {"n": 1}}).ok(201)["id"] for one in (run, other)
    )
    compared = agent.get(f"/checkpoints/{here}/difference/{there}")
    agent.post(f"/runs/{run}/plans", {"steps": [{"id": "a", "title": "A"}]}).ok(201)
    restored = reviewer.post(f"/runs/{run}/plans/1/restore", {"base": 1, "reason": "Back."})
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    rolled = admin.post("/policy/roll-back", {"number": 1, "note": "Back.", "base": 1})
    for refused, path in (
        (compared, "/path/other"),
        (restored, "/path/version"),
        (rolled, "/number"),
    ):
        assert (refused.status, refused.json["errors"][0]["path"]) == (422, path), refused
