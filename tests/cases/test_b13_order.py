"""B13: a decision belongs to the request that it names. Order, place and provider's labels bind nothing."""

from __future__ import annotations

import itertools

import pytest

from reviewhub.reviews.models import ReviewRequest
from tests.cases.conftest import Exec
from tests.driver import AgentHttp, PersonHttp

DELETE = {"call_id": "call_1", "tool": "delete_file", "arguments": {"path": "/data/a"}}
MAIL = {"call_id": "call_2", "tool": "send_email", "arguments": {"to": "x"}}


def answer(waiting, type_: str) -> dict:
    words = {"message": "Keep that file."} if type_ == "reject" else {}
    return {
        "request": waiting["request"]["id"],
        "type": type_,
        "version": 1,
        "digest": waiting["digest"],
        **words,
    }


def paused(agent: AgentHttp, *calls: dict):
    found = {one["tool"]: one for one in calls}
    made = agent.pause(agent.run()["id"], *calls).ok(201)["tool_calls"]
    return {tool: made[place] for place, tool in enumerate(found)}


def ran(tool: Exec, waiting) -> list[str]:
    return [name for name, one in waiting.items() if tool.attempt(one)]


@pytest.mark.parametrize("order", list(itertools.permutations(["delete_file", "send_email"])))
def test_b13_single_decisions_in_any_order(agent: AgentHttp, reviewer: PersonHttp, tool: Exec, order) -> None:
    waiting = paused(agent, DELETE, MAIL)
    for name in order:
        fields = {} if name == "send_email" else {"message": "Keep that file."}
        reviewer.decide(waiting[name], "approve" if name == "send_email" else "reject", **fields).ok()
    assert ran(tool, waiting) == ["send_email"]
    assert tool.ran == ['{"to":"x"}']


@pytest.mark.parametrize("order", list(itertools.permutations(["delete_file", "send_email"])))
def test_b13_bulk_decisions_in_any_order(agent: AgentHttp, reviewer: PersonHttp, tool: Exec, order) -> None:
    waiting = paused(agent, DELETE, MAIL)
    ReviewRequest.objects.update(risk="low", risk_rank=0)
    entries = [answer(waiting[name], "approve" if name == "send_email" else "reject") for name in order]
    reply = reviewer.post("/requests/decide", {"decisions": entries}).ok()
    assert [one["request"] for one in reply["results"]] == [entry["request"] for entry in entries]
    assert ran(tool, waiting) == ["send_email"]


@pytest.mark.parametrize("missing", [[0], [1], [0, 1]])
def test_b13_a_list_without_ids_is_refused_as_a_whole(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, missing: list[int]
) -> None:
    waiting = paused(agent, DELETE, MAIL)
    entries = [answer(waiting["delete_file"], "reject"), answer(waiting["send_email"], "approve")]
    for place in missing:
        del entries[place]["request"]
    refused = reviewer.post("/requests/decide", {"decisions": entries})
    assert refused.status in (400, 422)
    assert refused.json["errors"][0]["path"] == f"/decisions/{missing[0]}/request"
    assert set(ReviewRequest.objects.values_list("state", flat=True)) == {"pending"}
    assert ran(tool, waiting) == []


def test_b13_a_place_is_no_id(agent: AgentHttp, reviewer: PersonHttp, tool: Exec) -> None:
    waiting = paused(agent, DELETE, MAIL)
    for place in (0, 1, "0", "first", None, {}):
        entry = {**answer(waiting["send_email"], "approve"), "request": place}
        assert reviewer.post("/requests/decide", {"decisions": [entry]}).status in (400, 422), place
    assert ran(tool, waiting) == []


def test_b13_the_digest_of_a_sibling_is_not_taken(agent: AgentHttp, reviewer: PersonHttp, tool: Exec) -> None:
    """A page that mixed two cards up: the id of one, what was shown of the other."""
    waiting = paused(agent, DELETE, MAIL)
    crossed = {**answer(waiting["delete_file"], "approve"), "digest": waiting["send_email"]["digest"]}
    refused = reviewer.post("/requests/decide", {"decisions": [crossed]})
    assert refused.status == 422
    assert refused.json["results"][0]["status"] == 409
    assert (
        reviewer.decide(
            {**waiting["delete_file"], "digest": waiting["send_email"]["digest"]}, "approve"
        ).status
        == 409
    )
    assert ran(tool, waiting) == []


def test_b13_one_request_named_twice_is_decided_once(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    waiting = paused(agent, DELETE, MAIL)
    entries = [answer(waiting["delete_file"], "reject"), answer(waiting["delete_file"], "approve")]
    reviewer.post("/requests/decide", {"decisions": entries})
    assert ReviewRequest.objects.get(tool_call=waiting["delete_file"]["id"]).state == "rejected"
    assert ran(tool, waiting) == []


def test_b13_equal_labels_of_the_provider_bind_nothing(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    same = [{**DELETE, "call_id": "call_1"}, {**MAIL, "call_id": "call_1"}]
    waiting = paused(agent, *same)
    reviewer.decide(waiting["send_email"], "approve").ok()
    assert ran(tool, waiting) == ["send_email"]
    assert ReviewRequest.objects.get(tool_call=waiting["delete_file"]["id"]).state == "pending"


def test_b13_equal_calls_are_two_requests(agent: AgentHttp, reviewer: PersonHttp, tool: Exec) -> None:
    first, second = agent.pause(agent.run()["id"], MAIL, MAIL).ok(201)["tool_calls"]
    assert first["digest"] == second["digest"]
    assert first["request"]["id"] != second["request"]["id"]
    reviewer.decide(second, "approve").ok()
    assert not tool.attempt(first)
    assert tool.attempt(second)
    assert tool.ran == ['{"to":"x"}']
