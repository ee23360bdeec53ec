"""A person rewrites a run: what ends, what stays done, who is told, and who is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.retention.contents import forget_answers
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Grant, ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call, new_id, policy
from tests.shared import shared

CHANGES = [{"op": "set", "path": "/n", "value": 7}]


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


@shared
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def save(agent: AgentHttp, run: str, **body: Any) -> Any:
    return agent.post(f"/runs/{run}/checkpoints", body).ok(201)


def rewrite(who: PersonHttp, checkpoint: str, **body: Any) -> Reply:
    return who.post(
        f"/checkpoints/{checkpoint}/rewrite", {"changes": CHANGES, "reason": "wrong number", **body}
    )


def ran(agent: AgentHttp, bob: PersonHttp, one: Any, *, ends: bool = True) -> None:
    bob.decide(one, "approve").ok()
    agent.consume(one).ok()
    if ends:
        agent.outcome(one).ok()


@pytest.mark.django_db
def test_who_may_not_learns_nothing_and_changes_nothing(cast: Cast, agent: AgentHttp) -> None:
    run = agent.run()["id"]
    saved = save(agent, run, state={"n": 1})
    address = f"/checkpoints/{saved['id']}/rewrite"
    refused = {
        "mallory": 404,  # another workspace
        "dave": 404,  # another team
        "carol": 403,  # a manager sees it
        "alice": 403,  # an admin in no team
    }
    for name, status in refused.items():
        person = PersonHttp(cast.people[name])
        assert person.get(address).status == status, name
        assert rewrite(person, saved["id"]).status == status, name
    assert agent.get(address).status == 403
    assert agent.post(address, {"changes": CHANGES, "reason": "mine"}).status == 403
    assert PersonHttp(cast.bob).get(f"/checkpoints/{new_id()}/rewrite").status == 404
    assert (Branch.objects.count(), Checkpoint.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_sent_again_it_answers_the_same_and_rewrites_once(
    cast: Cast, agent: AgentHttp, bob: PersonHttp
) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 1})
    agent.pause(run, call()).ok(201)
    address, body = f"/checkpoints/{first['id']}/rewrite", {"changes": CHANGES, "reason": "wrong number"}
    made = bob.post(address, body, key="one").ok(201)
    assert made["old"]["withdrawn"]
    again = bob.post(address, body, key="one")
    assert (again.status, again.json) == (201, made)
    assert Branch.objects.filter(run=run).count() == 2
    assert bob.post(address, body | {"reason": "another"}, key="one").code == "idempotency_conflict"
    cast.alice.teams.add(cast.support)
    assert PersonHttp(cast.alice).post(address, body, key="one").code == "idempotency_conflict"
    assert bob.post(address, body, key="two").code == "superseded"
    unnamed = bob.client.post(f"/api/v1{address}", body, content_type="application/json")
    assert unnamed.json()["errors"][0]["path"] == "/headers/Idempotency-Key"
    # An erasure of the run drops the answer, which names branches.
    assert forget_answers(Run.objects.get(pk=run)) == 1
    assert bob.post(address, body, key="one").code == "idempotency_conflict"


@pytest.mark.django_db
def test_what_waits_is_withdrawn_and_what_ran_stays_done(
    cast: Cast, agent: AgentHttp, bob: PersonHttp
) -> None:
    agent.put("/tools/look", {"effect": "read"}).ok(200, 201)
    agent.put("/tools/pay", {"effect": "once"}).ok(200, 201)
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 0, "secret": "kept"})
    done = agent.pause(run, call("pay", "a"), call("look", "b")).ok(201)["tool_calls"]
    for one in done:
        ran(agent, bob, one)
    calls = agent.pause(run, call("pay", "c", arguments={"n": 1}), call("pay", "d"), call("mail", "e")).ok(
        201
    )
    running, allowed, waiting = calls["tool_calls"]
    ran(agent, bob, running, ends=False)
    bob.decide(allowed, "approve").ok()

    preview = bob.get(f"/checkpoints/{first['id']}/rewrite").ok()
    told = {
        name: [one["id"] for one in preview[name]] for name in ("done", "under_way", "unknown", "withdrawn")
    }
    assert told == {
        "done": [done[0]["id"]],
        "under_way": [running["id"]],
        "unknown": [],
        "withdrawn": [waiting["id"], allowed["id"]],
    }
    assert (preview["reads"], preview["left_out"], preview["branch"]["name"]) == (1, 0, "main")
    assert preview["withdrawn"][0]["request"] == ReviewRequest.objects.get(tool_call=waiting["id"]).number
    head = bob.get(f"/checkpoints/{calls['checkpoint']['id']}/rewrite").ok()
    assert head["done"] == [], "the state there knows of what ran before"

    made = rewrite(bob, first["id"], seen=preview["seen"]).ok(201)
    assert made["old"]["seen"] == preview["seen"]
    assert [one["id"] for one in made["old"]["done"]] == [done[0]["id"]]
    assert made["old"]["branch"]["state"] == "superseded"
    assert made["old"]["branch"]["continue_from"]["checkpoint"] == made["checkpoint"]
    states = dict(ToolCall.objects.values_list("call_id", "state"))
    assert states == {"a": "succeeded", "b": "succeeded", "c": "started", "d": "skipped", "e": "skipped"}
    assert ReviewRequest.objects.get(tool_call=waiting["id"]).state == "withdrawn"
    assert not Grant.objects.filter(state="open").exists()
    state = agent.get(f"/checkpoints/{made['checkpoint']}").ok()
    assert (state["state"], state["kind"], state["author"], state["reason"]) == (
        {"n": 7, "secret": "kept"},
        "rewrite",
        "Bob",
        "wrong number",
    )
    agent.outcome(running).ok()
    assert ToolCall.objects.get(call_id="c").state == "succeeded"


@pytest.mark.django_db
def test_history_tells_saves_forks_and_rewrites_apart(agent: AgentHttp, bob: PersonHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 0})
    agent.post(f"/checkpoints/{first['id']}/fork", {"branch": "side", "reason": "try"}).ok(201)
    save(agent, run, branch="side", state={"n": 1})
    made = rewrite(bob, first["id"]).ok(201)
    again = rewrite(bob, made["checkpoint"], changes=[], reason="once more").ok(201)
    save(agent, run, branch=again["branch"]["name"], state={"n": 9})
    listed = agent.get(f"/runs/{run}/checkpoints").ok()["items"]
    assert [one["kind"] for one in listed] == ["save", "rewrite", "rewrite", "save", "fork", "save"]
    name = again["branch"]["name"]
    way = agent.get(f"/runs/{run}/checkpoints?branch={name}").ok()["items"]
    assert [one["kind"] for one in way] == ["save", "rewrite", "rewrite", "save"]
    assert agent.get(f"/runs/{run}/checkpoints?branch=nothing").status == 404


@pytest.mark.django_db
@pytest.mark.parametrize("what", ["saved", "decided", "started"])
def test_a_stale_look_is_refused_naming_who_and_when(agent: AgentHttp, bob: PersonHttp, what: str) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 0})
    paused = agent.pause(run, call()).ok(201)
    (one,) = paused["tool_calls"]
    if what == "started":
        bob.decide(one, "approve").ok()
    seen = bob.get(f"/checkpoints/{first['id']}/rewrite").ok()["seen"]
    acts: dict[str, Callable[[], Any]] = {
        "saved": lambda: save(agent, agent.run()["id"], state={}) and _save_on_main(agent, bob, run, one),
        "decided": lambda: bob.decide(one, "approve").ok(),
        "started": lambda: agent.consume(one).ok(),
    }
    acts[what]()
    before = Event.objects.count()
    refused = rewrite(bob, first["id"], seen=seen)
    assert (refused.status, refused.code) == (409, "changed")
    assert refused.json["by"] == ("Bob" if what == "decided" else "Support agent")
    assert refused.json["at"].endswith("Z")
    assert Event.objects.count() == before
    assert Branch.objects.filter(run=run).count() == 1
    assert rewrite(bob, first["id"], seen=refused.json["seen"]).status == 201


def _save_on_main(agent: AgentHttp, bob: PersonHttp, run: str, one: Any) -> None:
    agent.post(f"/tool-calls/{one['id']}/withdraw", {}).ok()
    save(agent, run, state={"n": 3})


@pytest.mark.django_db
def test_a_branch_that_is_over_says_who_ended_it(cast: Cast, agent: AgentHttp, bob: PersonHttp) -> None:
    cast.alice.teams.add(cast.support)
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 0})
    made = rewrite(PersonHttp(cast.alice), first["id"]).ok(201)
    for refused in (bob.get(f"/checkpoints/{first['id']}/rewrite"), rewrite(bob, first["id"])):
        assert (refused.status, refused.code, refused.json["by"]) == (409, "superseded", "Alice")
        assert refused.json["continue_from"]["checkpoint"] == made["checkpoint"]
        assert refused.json["at"].endswith("Z")
    agent.post(f"/runs/{run}/cancel", {"reason": "enough"}).ok()
    refused = rewrite(bob, made["checkpoint"])
    assert (refused.status, refused.code, refused.json["by"]) == (409, "run_ended", "Support agent")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"reason": ""}, "/reason"),
        ({"reason": " \n\u3000"}, "/reason"),
        ({"changes": [{"op": "set", "path": "/no/where", "value": 1}]}, "/changes/0/path"),
        ({"changes": [{"op": "remove", "path": ""}]}, "/changes/0/path"),
        ({"seen": "sha256:no"}, "/seen"),
        ({"colour": 1}, "/colour"),
    ],
)
def test_a_wrong_rewrite_changes_nothing(
    agent: AgentHttp, bob: PersonHttp, body: dict[str, Any], path: str
) -> None:
    saved = save(agent, agent.run()["id"], state={"n": 0})
    refused = rewrite(bob, saved["id"], **body)
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, path)
    assert Branch.objects.get().state == "running"


@pytest.mark.django_db
def test_every_answer_says_where_to_go_on(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    """Reads carry it, writes are refused with it, outcome and progress are taken and carry it."""
    agent.put("/tools/free", {"effect": "idempotent"}).ok(200, 201)
    policy(cast.support, {"name": "Free", "tool": "free", "action": "allow"})
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 0})
    (started, unused) = agent.pause(run, call("free", "a"), call("free", "b")).ok(201)["tool_calls"]
    agent.consume(started).ok()
    paused = agent.pause(run, call("mail", "c")).ok(201)
    branch = Branch.objects.get(run=run)
    made = rewrite(bob, first["id"]).ok(201)
    there = {
        "branch": made["branch"]["name"],
        "branch_id": made["branch"]["id"],
        "checkpoint": made["checkpoint"],
    }
    assert agent.get(f"/pauses/{paused['id']}").ok()["continue_from"] == there
    shown = agent.get(f"/runs/{run}").ok()
    assert shown["continue_from"] == there
    assert [one.get("continue_from") for one in shown["branches"]] == [there, None]
    assert agent.post(f"/branches/{branch.pk}/heartbeat", {}).ok()["continue_from"] == there
    assert agent.get(f"/tool-calls/{started['id']}").ok()["state"] == "started"
    agent.post(f"/tool-calls/{started['id']}/progress", {"partial": 1}).ok()
    before = Event.objects.count(), Checkpoint.objects.count()
    writes = {
        "save": lambda: agent.post(f"/runs/{run}/checkpoints", {"state": {}}),
        "pause": lambda: agent.pause(run, call()),
        "observe": lambda: agent.post(
            f"/runs/{run}/observations",
            {"tool_calls": [call() | {"outcome": {"status": "succeeded"}}]},
        ),
        "consume": lambda: agent.consume(unused),
        "withdraw": lambda: agent.post(f"/tool-calls/{started['id']}/withdraw", {}),
        "claim": lambda: agent.post(f"/branches/{branch.pk}/claim", {}),
        "finish": lambda: agent.post(f"/branches/{branch.pk}/finish", {}),
        "fail": lambda: agent.post(f"/branches/{branch.pk}/fail", {"error": "x"}),
        "record": lambda: agent.put(f"/branches/{branch.pk}/records/k", {"value": 1}),
    }
    for name, write in writes.items():
        refused = write()
        assert (refused.status, refused.code) == (409, "superseded"), name
        assert refused.json["continue_from"] == there, name
    assert (Event.objects.count(), Checkpoint.objects.count()) == before
    assert agent.outcome(started).ok()["continue_from"] == there


@pytest.mark.django_db
def test_blame_and_find_over_http(agent: AgentHttp, bob: PersonHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 1, "log": ["a"]}, step=1)
    second = save(agent, run, state={"n": 2, "log": ["a"]}, step=2)
    made = rewrite(bob, second["id"]).ok(201)
    at = f"/checkpoints/{made['checkpoint']}"
    who = agent.get(f"{at}/blame?path=/n").ok()
    assert (who["path"], who["checkpoint"]["kind"], who["checkpoint"]["author"]) == ("/n", "rewrite", "Bob")
    assert agent.get(f"{at}/blame?path=/log/0").ok()["checkpoint"]["id"] == first["id"]
    assert agent.get(f"{at}/blame?path=/nothing").ok() == {"path": "/nothing"}
    found = agent.post(f"{at}/find", {"path": "/n", "value": 2}).ok()
    assert (found["introduced"]["step"], found["lost"]["id"]) == (2, made["checkpoint"])
    assert agent.post(f"{at}/find", raw=b'{"path":"/n","value":2.0}').ok() == {}, "numbers are their literals"
    assert agent.get(f"{at}/blame?path=n").json["errors"][0]["path"] == "/path"
    assert agent.post(f"{at}/find", {"path": "/n"}).status == 422
