"""States of older versions: brought to the code's own by its functions, in order, or refused by name."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents import wire
from reviewhub_agents.runtime import GraphError, StateError, StateType, run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import WrittenAs

from tests.runtime.agent import NewerTicket, Priced, Ticket, World, make, with_currency, with_price

OLD = '{"amount":"7.50","order":"1"}'
BOTH = {1: with_currency, 2: with_price}


def as_version(version: int, name: str = "payer") -> WrittenAs:
    return WrittenAs(name=name, version=version)


def priced(**more: Any) -> StateType[Priced]:
    return StateType("payer", Priced, **{"version": 3, "upgrades": BOTH} | more)


def test_the_functions_are_applied_in_order() -> None:
    state = priced().load(OLD, as_version(1))
    assert (state.price, state.currency, state.order) == (Decimal("7.50"), "EUR", "1")
    later = priced().load('{"amount":"7.50","currency":"CHF"}', as_version(2))
    assert (later.price, later.currency) == (Decimal("7.50"), "CHF")


def test_a_state_of_this_version_is_only_validated() -> None:
    text = priced().dump(Priced(price=Decimal("1.0"), currency="EUR"))
    assert priced().load(text, as_version(3)).currency == "EUR"
    with pytest.raises(StateError, match="currency"):
        priced().load(OLD, as_version(3))


def test_a_state_without_a_version_counts_as_the_first() -> None:
    assert priced().load(OLD).currency == "EUR"
    assert StateType("payer", NewerTicket, version=None).load(OLD).currency == "EUR"


@pytest.mark.parametrize(
    ("states", "written_as", "says"),
    [
        (priced(upgrades={1: with_currency}), as_version(1), ("version 1", "version 3", "from 2")),
        (priced(upgrades={}), as_version(1), ("version 1", "version 3", "from 1 and 2")),
        (priced(), as_version(4), ("version 4", "up to 3")),
        (priced(), as_version(3, "other"), ("'other'", "'payer'")),
        (StateType("payer", Ticket, version=None), as_version(2), ("version 2", "no version")),
    ],
)
def test_what_cannot_be_read_is_said_before_anything_is_loaded(
    states: StateType[Any], written_as: WrittenAs, says: tuple[str, ...]
) -> None:
    with pytest.raises(StateError) as refused:
        states.check(written_as)
    assert all(part in str(refused.value) for part in says)
    with pytest.raises(StateError):
        states.load(OLD, written_as)


def test_a_function_gets_python_values_and_may_give_them() -> None:
    class Old(BaseModel):
        amounts: dict[int, Decimal]
        tags: set[str]

    class New(BaseModel):
        total: Decimal
        tags: frozenset[str]

    def total(state: dict[str, Any]) -> dict[str, Any]:
        return {"total": sum(state["amounts"].values()), "tags": frozenset(state["tags"])}

    text = StateType("old", Old).dump(Old(amounts={1: Decimal("1.50"), 2: Decimal("2.0")}, tags={"a"}))
    made = StateType("old", New, version=2, upgrades={1: total}).load(text, as_version(1, "old"))
    assert made == New(total=Decimal("3.50"), tags=frozenset({"a"}))


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lambda state: state["gone"], "from version 1 to 2 failed: KeyError"),
        (lambda state: None, "gave no dict but NoneType"),
        (lambda state: {"currency": object()}, "cannot be kept after its upgrade"),
        (lambda state: {}, "currency"),
    ],
)
def test_a_function_that_fails_is_named(broken: Any, says: str) -> None:
    states = StateType("payer", Priced, version=2, upgrades={1: broken})
    with pytest.raises(StateError, match=says):
        states.load(OLD, as_version(1))


@pytest.mark.parametrize(("version", "upgrades"), [(0, {}), (2, {2: with_price}), (2, {0: with_price})])
def test_a_version_that_makes_no_sense_is_refused(version: int, upgrades: Any) -> None:
    with pytest.raises(GraphError):
        StateType("payer", Priced, version=version, upgrades=upgrades)


def test_what_is_sent_says_what_it_is() -> None:
    states = priced()
    name, version, body = states.registration()
    assert (name, version) == ("payer", 3)
    assert body.json_schema["properties"]["price"]["properties"]["$rh"] == {"const": "decimal"}
    message = wire.CheckpointSave(**states.fields(Priced(currency="EUR")))
    assert message.state_schema == wire.StateSchemaNamed(name="payer", version=3)
    assert json.loads(message.to_text())["state"]["price"] == {"$rh": "decimal", "value": "10.00"}


def test_a_run_goes_on_with_code_that_is_two_versions_newer() -> None:
    world, store = World(), MemoryStore(policy=lambda one: "waiting" if one.effect == "once" else "allowed")
    assert run(make(world, version=1), store) == "paused"
    before = store.snapshots[-1]
    store.decide("approve")
    newer: Any = make(world, Priced, version=3, upgrades=BOTH)  # type: ignore[arg-type]
    assert run(newer, store) == "finished"
    assert world.done == [("read", "8812"), ("pay", "10.00"), ("mail", "paid")]
    assert before in store.snapshots
    assert [one.written_as and one.written_as.version for one in store.snapshots] == [1, 1, 3, 3][
        : len(store.snapshots)
    ]


def test_code_that_cannot_read_the_state_runs_nothing() -> None:
    world, store = World(), MemoryStore(policy=lambda one: "waiting" if one.effect == "once" else "allowed")
    run(make(world, version=1), store)
    store.decide("approve")
    done = list(world.done)
    with pytest.raises(StateError, match="no function"):
        run(make(world, NewerTicket, version=2), store)
    assert world.done == done
    assert len(store.schemas) == 1
