"""Checkpoints over HTTP: saving, hints, stale heads, forks, and outcomes that bring one along."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.tree import read_state
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def save(agent: AgentHttp, run: Any, **body: Any) -> Any:
    return agent.post(f"/runs/{run['id']}/checkpoints", body).ok(201)


def test_a_state_comes_back_as_it_was_sent(agent: AgentHttp) -> None:
    run = agent.run()
    raw = '{"state": {"n": 1E2, "big": 9007199254740993, "t": "\\ud83c\\udf78"}, "node": "start", "step": 3}'
    saved = agent.post(f"/runs/{run['id']}/checkpoints", raw=raw.encode()).ok(201)
    reply = agent.client.get(
        f"/api/v1/checkpoints/{saved['id']}", headers={"Authorization": f"Bearer {agent.token}"}
    )
    assert '"state":{"big":9007199254740993,"n":1E2,"t":"\U0001f378"}' in reply.content.decode()
    fields = agent.get(f"/checkpoints/{saved['id']}?state=fields").ok()
    assert set(fields["fields"]) == {"n", "big", "t"}
    assert "state" not in fields
    assert agent.get(f"/checkpoints/{saved['id']}?state=none").ok()["hash"] == saved["hash"]


def test_hints_and_stale_heads(agent: AgentHttp) -> None:
    run = agent.run()
    first = save(agent, run, state={"log": [1], "order": {}})
    hints = {
        "append": {"log": [2]},
        "unchanged": ["order"],
        "parent": first["id"],
        "parent_hash": first["hash"],
    }
    second = save(agent, run, **hints)
    assert agent.get(f"/checkpoints/{second['id']}").ok()["state"] == {"log": [1, 2], "order": {}}
    refused = agent.post(f"/runs/{run['id']}/checkpoints", hints)
    assert (refused.status, refused.code) == (409, "stale_head")
    assert refused.json["head"] == {"id": second["id"], "hash": second["hash"]}
    listed = agent.get(f"/runs/{run['id']}/checkpoints").ok()["items"]
    assert [row["number"] for row in listed] == [2, 1]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ('{"state": {"a": {"b": "x\\u0000"}}}', "/state/a/b"),
        ('{"state": {"a": ["\\ud83c"]}}', "/state/a/0"),
        ('{"state": {"a": NaN}}', "/state/a"),
        ('{"state": {"a": 1, "a": 2}}', "/state/a"),
        ('{"state": []}', "/state"),
        ('{"state": {}, "changed": {}}', ""),
        ('{"state": {}, "colour": 1}', "/colour"),
    ],
)
def test_b01_a_state_that_cannot_be_kept_is_refused_by_path(agent: AgentHttp, raw: str, path: str) -> None:
    run = agent.run()
    refused = agent.post(f"/runs/{run['id']}/checkpoints", raw=raw.encode())
    assert refused.status in (400, 422)
    assert refused.json["errors"][0]["path"] == path
    assert not Checkpoint.objects.exists()


def test_a_fork_of_an_ended_run_opens_it_again(agent: AgentHttp) -> None:
    run = agent.run()
    first = save(agent, run, state={"amount": "1"})
    agent.post(f"/runs/{run['id']}/cancel", {}).ok()
    assert Run.objects.get().state == "cancelled"
    changes = [{"op": "set", "path": "/amount", "value": "2"}]
    forked = agent.post(f"/checkpoints/{first['id']}/fork", {"changes": changes, "reason": "again"}).ok(201)
    assert forked["branch"]["name"] == "fork-1"
    assert agent.get(f"/checkpoints/{forked['checkpoint']}").ok()["state"] == {"amount": "2"}
    assert Run.objects.get().state == "running"
    save(agent, run, branch="fork-1", state={"amount": "3"}, parent=forked["checkpoint"])
    assert agent.post(f"/runs/{run['id']}/checkpoints", {"state": {}}).code == "run_ended"
    taken = agent.post(f"/checkpoints/{first['id']}/fork", {"branch": "fork-1"})
    assert (taken.status, taken.code) == (409, "name_taken")


def test_another_agents_checkpoint_is_not_there(cast: Cast, agent: AgentHttp) -> None:
    saved = save(agent, agent.run(), state={})
    stranger = agent_of(cast.finance, name="Finance agent")
    for reply in (
        stranger.get(f"/checkpoints/{saved['id']}"),
        stranger.post(f"/checkpoints/{saved['id']}/fork", {}),
        agent.get(f"/checkpoints/{uuid7()}"),
    ):
        assert (reply.status, reply.code) == (404, "not_found")


@pytest.mark.parametrize("parent", [True, False])
def test_an_outcome_sent_again_saves_its_checkpoint_once(cast: Cast, agent: AgentHttp, parent: bool) -> None:
    """The answer to the first one may have been lost; the second one must not find its own checkpoint in the way."""
    run = agent.run()
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(waiting, "approve").ok()
    agent.consume(waiting).ok()
    head = Checkpoint.objects.get()
    checkpoint = {"state": {"n": 2}, **({"parent": str(head.pk)} if parent else {})}
    first = agent.outcome(waiting, result=1, checkpoint=checkpoint).ok()
    again = agent.outcome(waiting, result=1, checkpoint=checkpoint).ok()
    assert again == first
    assert Checkpoint.objects.count() == 2


def siblings(cast: Cast, agent: AgentHttp) -> tuple[Any, Any, Any]:
    """A run whose pause has two calls: the first is approved and started, the second waits."""
    run = agent.run()
    one, two = agent.pause(run["id"], call(), call("mail", "call_2")).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(one, "approve").ok()
    agent.consume(one).ok()
    return run, one, two


def test_the_state_does_not_move_under_a_sibling_that_waits(cast: Cast, agent: AgentHttp) -> None:
    """People decide at the state that they see, and the run goes on from exactly that one."""
    run, one, two = siblings(cast, agent)
    shown = Checkpoint.objects.get()
    after = {"state": {"n": 2}, "parent": str(shown.pk)}
    for _ in range(2):
        refused = agent.outcome(one, result=1, checkpoint=after)
        assert (refused.status, refused.code) == (409, "branch_paused")
        assert "The outcome is kept." in refused.json["detail"]
    assert ToolCall.objects.get(pk=one["id"]).state == "succeeded"
    assert Checkpoint.objects.count() == 1
    PersonHttp(cast.bob).decide(two, "approve").ok()
    assert Branch.objects.get(run=run["id"]).head == shown.pk
    # Once nobody waits any more, the same request is taken whole.
    saved = agent.outcome(one, result=1, checkpoint=after).ok()["checkpoint"]
    assert Branch.objects.get(run=run["id"]).head == uuid.UUID(saved["id"])


def test_an_outcome_that_ends_the_waiting_brings_its_state(cast: Cast, agent: AgentHttp) -> None:
    """The last thing that people were asked was whether it happened, and the tool says so itself."""
    run = agent.run()
    (one,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(one, "approve").ok()
    agent.consume(one).ok()
    agent.outcome(one, status="unknown", checkpoint={"state": {"n": 2}}).ok()
    assert Branch.objects.get(run=run["id"]).state == "paused"
    agent.outcome(one, result=1, checkpoint={"state": {"n": 3}}).ok()
    assert Branch.objects.get(run=run["id"]).state == "resuming"
    assert Checkpoint.objects.count() == 3


def test_two_checkpoints_are_compared_by_path(agent: AgentHttp) -> None:
    run = agent.run()
    first = save(agent, run, state={"log": [1], "order": {"id": 7, "to": "Oslo"}})
    second = save(agent, run, state={"log": [1, {"n": 2}], "order": {"id": 7, "to": None}})
    found = agent.get(f"/checkpoints/{first['id']}/difference/{second['id']}").ok()
    assert found == {
        "changes": [
            {"path": "/log/1", "kind": "added", "after": {"n": 2}},
            {"path": "/order/to", "kind": "changed", "before": "Oslo", "after": None},
        ],
        "more": False,
    }
    back = agent.get(f"/checkpoints/{second['id']}/difference/{first['id']}").ok()
    assert back["changes"][0] == {"path": "/log/1", "kind": "removed", "before": {"n": 2}}
    foreign = save(agent, agent.run(), state={})
    assert agent.get(f"/checkpoints/{first['id']}/difference/{foreign['id']}").status == 422


def test_a_field_that_is_called_unchanged_and_is_not_is_refused(agent: AgentHttp) -> None:
    """The sender says which state it means; what would be stored is another one."""
    run = agent.run()
    first = save(agent, run, state={"log": [1], "order": {"id": 7}})
    meant = read_state('{"log":[1,2],"order":{"id":8}}').state_hash
    hints: dict[str, Any] = {"append": {"log": [2]}, "parent": first["id"], "parent_hash": first["hash"]}
    refused = agent.post(
        f"/runs/{run['id']}/checkpoints", {**hints, "unchanged": ["order"], "state_hash": meant}
    )
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, "/state_hash")
    assert Checkpoint.objects.count() == 1
    right = save(agent, run, **hints, changed={"order": {"id": 8}}, state_hash=meant)
    assert right["hash"] == meant
    whole = {"state": {"log": [1, 2]}, "state_hash": meant}
    assert agent.post(f"/runs/{run['id']}/checkpoints", whole).status == 422


@pytest.mark.parametrize(
    "hints", [{"append": None}, {"changed": None, "unchanged": None}, {"state": None, "append": None}]
)
def test_hints_that_are_all_null_do_not_empty_the_state(agent: AgentHttp, hints: dict[str, Any]) -> None:
    """A client that writes out what it has not set: no field named would mean that every field is gone."""
    run = agent.run()
    first = save(agent, run, state={"log": [1], "order": {"id": 7}})
    told = {"parent": first["id"], "parent_hash": first["hash"], **hints}
    refused = agent.post(f"/runs/{run['id']}/checkpoints", told)
    assert (refused.status, refused.code) == (422, "invalid")
    assert Checkpoint.objects.count() == 1
    # Beside a whole state they say nothing.
    assert save(agent, run, **{**hints, "state": {"log": []}, "parent": first["id"]})["number"] == 2


@pytest.mark.parametrize(
    ("hints", "path"),
    [
        ({"unchanged": ["gone"]}, "/unchanged"),
        ({"append": {"order": [1]}}, "/append/order"),
        ({"changed": {"log": []}, "unchanged": ["log"]}, "/changed/log"),
        ({"unchanged": ["log"], "parent_hash": "sha256:" + "0" * 64}, "/parent_hash"),
        ({"unchanged": ["log"], "parent": str(uuid7())}, "/parent"),
    ],
)
def test_what_is_wrong_with_a_save_is_named_by_its_place_in_what_was_sent(
    agent: AgentHttp, hints: dict[str, Any], path: str
) -> None:
    run = agent.run()
    first = save(agent, run, state={"log": [1], "order": {"id": 7}})
    told = {"parent": first["id"], "parent_hash": first["hash"], **hints}
    refused = agent.post(f"/runs/{run['id']}/checkpoints", told)
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, path)
    # In a pause it stands under `checkpoint`.
    paused = agent.pause(run["id"], call(), checkpoint=told)
    assert (paused.status, paused.json["errors"][0]["path"]) == (422, f"/checkpoint{path}")


def test_a_huge_name_is_not_sent_back(agent: AgentHttp) -> None:
    run = agent.run()
    first = save(agent, run, state={"log": [1]})
    name = "N" * 100_000
    for hints in ({"unchanged": [name]}, {"append": {name: [1]}}):
        told = {"parent": first["id"], "parent_hash": first["hash"], **hints}
        refused = agent.post(f"/runs/{run['id']}/checkpoints", told)
        assert refused.status == 422
        assert len(str(refused.json)) < 2000


@pytest.mark.parametrize(
    ("checkpoint", "path"),
    [
        ({"id": str(uuid7())}, "/checkpoint/id"),
        ({"state": {}, "plan": {"version": 9, "step": 0}}, "/checkpoint/plan/version"),
        ({"state": {}, "state_schema": {"name": "none", "version": 1}}, "/checkpoint/state_schema"),
        ({"state": {}, "state_hash": "sha256:" + "0" * 64}, "/checkpoint/state_hash"),
        (
            {"parent": str(uuid7()), "parent_hash": "sha256:" + "0" * 64, "unchanged": ["n"]},
            "/checkpoint/parent",
        ),
    ],
)
def test_a_checkpoint_that_cannot_be_keeps_nobody_from_saying_what_happened(
    cast: Cast, agent: AgentHttp, checkpoint: dict[str, Any], path: str
) -> None:
    """The tool ran. Without its outcome the call would be unknown, and a person asked about what is known."""
    run = agent.run()
    (one,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(one, "approve").ok()
    agent.consume(one).ok()
    refused = agent.outcome(one, result=1, checkpoint=checkpoint)
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, path)
    assert agent.get(f"/tool-calls/{one['id']}").ok()["state"] == "succeeded"
    assert Checkpoint.objects.count() == 1
    # The same outcome with a right one saves it.
    agent.outcome(one, result=1, checkpoint={"state": {"n": 2}}).ok()
    assert Checkpoint.objects.count() == 2
