"""The demo agent on the store in memory, with its real shop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reviewhub_agents.demos import support_shop
from reviewhub_agents.demos.support import support
from reviewhub_agents.runtime import run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import Proposal


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))


def policy(proposal: Proposal) -> str:
    return "waiting" if proposal.tool == "shop.refund" else "allowed"


def started(wish: str = "") -> MemoryStore:
    store = MemoryStore(policy=policy, input=json.dumps({"wish": wish} if wish else {}))
    run(support, store)
    return store


def messages(store: MemoryStore) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(store.snapshots[-1].state)["messages"]
    return found


def test_the_graph_is_sound() -> None:
    support.check()


def test_it_waits_for_the_refund_and_pays_what_was_approved() -> None:
    store = started()
    assert store.state == "paused"
    assert support_shop.refunds() == []
    store.decide("approve")
    assert run(support, store) == "finished"
    assert [(order, amount) for order, amount, _ in support_shop.refunds()] == [("8812", "1240.00")]
    assert support_shop.emails() == [("mona@example.com", "Your refund for order 8812")]
    assert store.result == '"Refunded 1240.00; the customer knows."'


def test_an_edited_amount_is_what_it_pays_and_what_it_writes() -> None:
    store = started("Order 8812 came crushed, please refund $900.00")
    store.decide("edit", arguments={"order_id": "8812", "amount": "450.00"})
    run(support, store)
    assert [amount for _, amount, _ in support_shop.refunds()] == ["450.00"]
    assert "450.00" in json.loads(messages(store)[-3]["tool_calls"][0]["function"]["arguments"])["body"]


@pytest.mark.parametrize(("type_", "value"), [("reject", None), ("respond", "We send a new desk top.")])
def test_without_the_refund_it_explains_and_finishes(type_: str, value: str | None) -> None:
    store = started()
    store.decide(type_, value=value, message="The photo shows another desk.")
    assert run(support, store) == "finished"
    assert support_shop.refunds() == []
    assert support_shop.emails() == [("mona@example.com", "About order 8812")]
    body = json.loads(messages(store)[-3]["tool_calls"][0]["function"]["arguments"])["body"]
    assert (value or "The photo shows another desk.") in body
    assert store.result == '"Nothing was refunded; the customer knows."'


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ("Where is my parcel?", "Which order"),
        ("I do not like order 9134", "nothing to refund"),
        ("Order 1111 is broken", "could not look"),
    ],
)
def test_what_needs_no_refund_ends_at_once(wish: str, says: str) -> None:
    store = started(wish)
    assert store.state == "succeeded"
    assert says in (store.result or "")


def test_every_tool_call_in_the_conversation_has_exactly_one_result() -> None:
    store = started()
    store.decide("reject", message="no")
    run(support, store)
    asked = [call["id"] for message in messages(store) for call in message.get("tool_calls") or []]
    answered = [message["tool_call_id"] for message in messages(store) if message["role"] == "tool"]
    assert asked == answered
