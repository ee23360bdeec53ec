"""The engine on the store in memory: pauses, decisions, crashes, replays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reviewhub_agents.runtime import Fenced, Graph, ReplayDiverged, ToolError, run
from reviewhub_agents.runtime.errors import StateError
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import Proposal

from tests.runtime.agent import Ticket, World, make


def only_pay_waits(proposal: Proposal) -> str:
    return "waiting" if proposal.effect == "once" else "allowed"


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def graph(world: World) -> Graph[Ticket]:
    made = make(world)
    made.check()
    return made


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(policy=only_pay_waits)


def test_it_pauses_for_people_and_goes_on_with_what_they_approved(
    graph: Graph[Ticket], store: MemoryStore, world: World
) -> None:
    assert run(graph, store) == "paused"
    assert world.done == [("read", "8812")]
    assert [call.tool for call in store.waiting()] == ["pay"]
    store.decide("approve")
    assert run(graph, store) == "finished"
    assert world.done == [("read", "8812"), ("pay", "10.00"), ("mail", "paid")]
    assert json.loads(store.result or "") == "done 10.00 1"
    # The step began again with the saved state: what it had appended before the pause is not there twice.
    assert json.loads(store.snapshots[-1].state)["steps"] == ["look", "refund"]
    assert world.models == 1


def test_edited_arguments_are_what_runs(graph: Graph[Ticket], store: MemoryStore, world: World) -> None:
    run(graph, store)
    store.decide("edit", arguments={"text": "7.50"})
    run(graph, store)
    assert ("pay", "7.50") in world.done
    assert ("pay", "10.00") not in world.done


@pytest.mark.parametrize(
    ("type_", "value", "outcome"),
    [
        ("reject", None, "refused None 1 too much"),
        ("respond", {"did": "by hand"}, "answered by hand 1 too much"),
    ],
)
def test_other_answers_run_nothing(
    graph: Graph[Ticket], store: MemoryStore, world: World, type_: str, value: Any, outcome: str
) -> None:
    run(graph, store)
    store.decide(type_, value=value, message="too much")
    assert run(graph, store) == "finished"
    assert [tool for tool, _ in world.done] == ["read", "mail"]
    assert json.loads(store.result or "") == outcome


def test_a_denied_read_is_a_refusal_and_no_crash(graph: Graph[Ticket], world: World) -> None:
    store = MemoryStore(policy=lambda proposal: "denied")
    assert run(graph, store) == "finished"
    assert store.result == '"no such order"'
    assert world.done == []


def test_while_it_waits_nobody_can_run_it_on(graph: Graph[Ticket], store: MemoryStore) -> None:
    run(graph, store)
    with pytest.raises(Fenced):
        run(graph, store)


class Killed(BaseException):
    """The process died here."""


def test_killed_in_a_once_call_a_person_is_asked_and_it_is_not_run_again(
    graph: Graph[Ticket], store: MemoryStore, world: World
) -> None:
    run(graph, store)
    store.decide("approve")
    world.breaks["pay"] = [Killed()]
    with pytest.raises(Killed):
        run(graph, store)
    assert run(graph, store) == "paused"
    assert [(call.tool, call.state) for call in store.waiting()] == [("pay", "unknown")]
    store.decide("happened", value={"did": "seen in the bank"})
    assert run(graph, store) == "finished"
    assert [tool for tool, _ in world.done] == ["read", "mail"]
    assert json.loads(store.result or "").startswith("done seen in the bank")


def test_what_a_person_says_did_not_happen_may_run_now(
    graph: Graph[Ticket], store: MemoryStore, world: World
) -> None:
    run(graph, store)
    store.decide("approve")
    world.breaks["pay"] = [Killed()]
    with pytest.raises(Killed):
        run(graph, store)
    run(graph, store)
    store.decide("did_not_happen")
    assert run(graph, store) == "finished"
    assert world.done.count(("pay", "10.00")) == 1


@pytest.mark.parametrize("tool", ["read", "mail"])
def test_killed_in_a_call_that_may_be_repeated_it_is_repeated(
    graph: Graph[Ticket], store: MemoryStore, world: World, tool: str
) -> None:
    world.breaks[tool] = [Killed()]
    if tool == "read":
        with pytest.raises(Killed):
            run(graph, store)
    run(graph, store)
    store.decide("approve")
    if tool == "mail":
        with pytest.raises(Killed):
            run(graph, store)
    assert run(graph, store) == "finished"
    assert [name for name, _ in world.done] == ["read", "pay", "mail"]


def test_an_error_that_says_nothing_happened_is_a_failure(
    graph: Graph[Ticket], store: MemoryStore, world: World
) -> None:
    run(graph, store)
    store.decide("approve")
    world.breaks["pay"] = [ToolError("the bank is closed")]
    assert run(graph, store) == "finished"
    assert json.loads(store.result or "").startswith("failed")


def test_any_other_error_of_a_once_call_is_for_a_person(
    graph: Graph[Ticket], store: MemoryStore, world: World
) -> None:
    run(graph, store)
    store.decide("approve")
    world.breaks["pay"] = [TimeoutError("no answer")]
    assert run(graph, store) == "paused"
    assert store.waiting()[0].error == "TimeoutError: no answer"


def test_a_read_is_tried_again_as_often_as_it_says(
    graph: Graph[Ticket], store: MemoryStore, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    failing = world.act

    def act(tool: str, args: Any, run_: Any) -> Any:
        if tool == "read" and run_.attempt < 3:
            raise ConnectionError("line cut")
        return failing(tool, args, run_)

    world.act = act  # type: ignore[method-assign]
    assert run(graph, store) == "paused"
    assert slept == [0.5, 1.0]
    assert world.done == [("read", "8812")]


def test_a_replay_that_asks_for_something_else_is_reported(store: MemoryStore, world: World) -> None:
    first = make(world)
    run(first, store)
    store.decide("approve")
    changed = make(world)
    # Deployed while the run waited: the step asks for another amount now.
    store.snapshots[-1] = type(store.snapshots[-1])(
        id="x", node="refund", step=1, state=store.snapshots[-1].state.replace("10.00", "99.00")
    )
    with pytest.raises(ReplayDiverged):
        run(changed, store)
    assert ("pay", "99.00") not in world.done


def test_a_state_that_this_version_cannot_read_is_said_so(graph: Graph[Ticket], store: MemoryStore) -> None:
    store.save(node="look", step=0, state='{"order":[]}')
    with pytest.raises(StateError, match="order"):
        run(graph, store)


def test_a_step_that_is_gone_is_said_so(graph: Graph[Ticket], store: MemoryStore) -> None:
    store.save(node="removed", step=0, state="{}")
    with pytest.raises(StateError, match="removed"):
        run(graph, store)
