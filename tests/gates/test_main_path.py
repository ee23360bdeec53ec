"""The way through: pause, decide, consume, outcome; each answer of a person or of policy, as the agent sees it."""

from __future__ import annotations

from reviewhub.audit.models import Event
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch, Run
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy
from tests.shared import shared


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


@shared
def bob_http(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def test_a_pause_waits_is_approved_consumed_and_ends(agent: AgentHttp, bob_http: PersonHttp) -> None:
    run = agent.run(title="Ticket 1")
    paused = agent.pause(run["id"], call(reason="The photo shows a crushed corner.")).ok(201)
    assert paused["state"] == "waiting"
    (waiting,) = paused["tool_calls"]
    assert waiting["state"] == "waiting"
    assert waiting["request"]["number"] == 1
    assert Run.objects.get().state == "paused"
    assert agent.consume(waiting).code == "not_allowed"

    decided = bob_http.decide(waiting, "approve", note="ok").ok()
    assert (decided["state"], decided["counted"], decided["needed"], decided["version"]) == (
        "approved",
        True,
        0,
        1,
    )
    assert decided["decision"]["type"] == "approve"

    now = agent.get(f"/pauses/{paused['id']}").ok()
    assert now["state"] == "settled"
    (allowed,) = now["tool_calls"]
    assert allowed["state"] == "allowed"
    assert allowed["decision"]["by"] == {"kind": "person", "name": "Bob"}
    assert allowed["decision"]["arguments"] == {"order": "8812", "amount": "10.00"}
    assert allowed["grant"]["digest"] == waiting["digest"]
    assert [one["run"] for one in agent.get("/resumptions").ok()["items"]] == [run["id"]]

    taken = agent.consume(allowed, key="in-memory").ok()
    assert taken["arguments_text"] == '{"amount":"10.00","order":"8812"}'
    assert taken["attempt"] == 1
    assert agent.consume(allowed, key="in-memory").ok() == taken
    assert agent.consume(allowed, key="another-process").code == "already_consumed"
    assert Resumption.objects.get().state == "done"

    ended = agent.outcome(allowed, result={"refund": "r1"}, checkpoint={"state": {"n": 2}}).ok()
    assert ended["state"] == "succeeded"
    assert agent.outcome(allowed, result={"refund": "r1"}).ok()["state"] == "succeeded"
    assert agent.outcome(allowed, result={"refund": "r2"}).code == "outcome_conflict"
    branch = Branch.objects.get()
    assert (
        agent.post(f"/branches/{branch.pk}/finish", {"result": {"done": True}}).ok()["state"] == "succeeded"
    )
    assert Run.objects.get().state == "succeeded"
    kinds = list(Event.objects.order_by("id").values_list("kind", flat=True))
    for kind in (
        "run.started",
        "pause.opened",
        "request.opened",
        "request.decided",
        "call.started",
        "call.ended",
    ):
        assert kinds.count(kind) == 1, kind


def test_an_edit_runs_with_the_new_arguments_and_the_model_is_told(
    agent: AgentHttp, bob_http: PersonHttp
) -> None:
    run = agent.run()
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    changes = [{"op": "set", "path": "/amount", "value": "5.00"}]
    out = bob_http.decide(waiting, "edit", changes=changes, message="limit is 5", key="form-1").ok()
    assert bob_http.decide(waiting, "edit", changes=changes, message="limit is 5", key="form-1").ok() == out
    assert (out["state"], out["version"]) == ("edited", 2)
    edited = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert edited["decision"]["type"] == "edit"
    assert edited["decision"]["edited"] is True
    assert "limit is 5" in edited["model_text"]
    assert edited["digest"] != waiting["digest"]
    assert agent.consume(waiting).code == "digest_mismatch"
    assert agent.consume(edited).ok()["arguments"]["amount"] == "5.00"


def test_a_rejection_reaches_the_model_word_for_word(agent: AgentHttp, bob_http: PersonHttp) -> None:
    run = agent.run()
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    bob_http.decide(waiting, "reject", message="use staging, not prod \u2602").ok()
    denied = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert denied["state"] == "denied"
    assert "use staging, not prod \u2602" in denied["model_text"]
    assert "human decision" in denied["model_text"]
    assert agent.consume(denied).code == "not_allowed"


def test_siblings_settle_only_when_the_last_is_decided(agent: AgentHttp, bob_http: PersonHttp) -> None:
    run = agent.run()
    paused = agent.pause(run["id"], call(call_id="a"), call("mail", call_id="b")).ok(201)
    first, second = paused["tool_calls"]
    bob_http.decide(first, "approve").ok()
    assert agent.get(f"/pauses/{paused['id']}").ok()["state"] == "waiting"
    assert Resumption.objects.count() == 0
    bob_http.decide(second, "reject", message="Not this one.").ok()
    settled = agent.get(f"/pauses/{paused['id']}").ok()
    assert [one["state"] for one in settled["tool_calls"]] == ["allowed", "denied"]
    assert Resumption.objects.count() == 1


def test_policy_answers_at_once(cast: Cast, agent: AgentHttp) -> None:
    agent.put("/tools/read_order", {"effect": "read", "schema": {"type": "object"}}).ok()
    policy(
        cast.support,
        {"name": "Never", "tool": "drop_*", "action": "deny"},
        {"name": "Reads", "tool": "read_order", "action": "allow"},
    )
    run = agent.run()
    paused = agent.pause(run["id"], call("read_order"), call("drop_table", call_id="c2")).ok(201)
    assert paused["state"] == "settled"
    read, drop = paused["tool_calls"]
    assert read["state"] == "allowed"
    assert drop["state"] == "denied"
    assert "Never" in drop["message"]
    assert Run.objects.get().state == "running"
    assert Resumption.objects.count() == 0
    assert ReviewRequest.objects.count() == 0
    first = agent.consume(read).ok()
    assert agent.consume(read).ok()["attempt"] == first["attempt"] + 1, "a read may start again"


def test_the_same_pause_twice_is_one_pause(agent: AgentHttp) -> None:
    run = agent.run(external_id="x-1")
    assert agent.post("/runs", {"external_id": "x-1"}).ok(200)["id"] == run["id"]
    first = agent.pause(run["id"], call(), key="k").ok(201)
    assert agent.pause(run["id"], call(), key="k").ok(200)["id"] == first["id"]
    assert agent.pause(run["id"], call("other"), key="k").code == "idempotency_conflict"
    assert agent.pause(run["id"], call(), key="k2").code == "branch_paused"
    assert ReviewRequest.objects.count() == 1


def test_a_cancelled_run_takes_its_requests_along(agent: AgentHttp, bob_http: PersonHttp) -> None:
    run = agent.run()
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    assert (
        agent.post(f"/runs/{run['id']}/cancel", {"reason": "no longer needed"}).ok()["state"] == "cancelled"
    )
    refused = bob_http.decide(waiting, "approve")
    assert (refused.status, refused.code) == (409, "already_decided")
    now = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert now["state"] == "skipped"
    assert now["decision"]["type"] == "cancel"
    assert agent.consume(waiting).status == 409


def test_a_claimed_request_is_its_holders_until_taken_over(
    cast: Cast, agent: AgentHttp, bob_http: PersonHttp
) -> None:
    cast.alice.teams.add(cast.support)
    alice = PersonHttp(cast.alice)
    run = agent.run()
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    address = f"/requests/{waiting['request']['id']}/claim"
    alice.post(address).ok()
    refused = bob_http.decide(waiting, "approve")
    assert (refused.status, refused.code, refused.json["by"]) == (409, "not_yours", "Alice")
    assert bob_http.post(address).code == "not_yours"
    bob_http.post(address, {"take_over": True}).ok()
    assert bob_http.decide(waiting, "approve").ok()["state"] == "approved"
