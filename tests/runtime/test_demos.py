"""The demo agents on the store in memory, each with its real effects on local files."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from reviewhub_agents.demos import claims_office, mailbox, scratch, support_shop
from reviewhub_agents.demos.claims import claims
from reviewhub_agents.demos.migration import migration
from reviewhub_agents.demos.support import support
from reviewhub_agents.runtime import run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import Proposal

ASKED = {"shop.refund", "shop.move", "db.migrate", "claims.pay"}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))
    return tmp_path


def policy(proposal: Proposal) -> str:
    return "waiting" if proposal.tool in ASKED else "allowed"


def started(graph: object, **given: object) -> MemoryStore:
    store = MemoryStore(policy=policy, input=json.dumps(given))
    run(graph, store)  # type: ignore[arg-type]
    return store


@pytest.mark.parametrize("graph", [support, migration, claims])
def test_they_are_sound(graph: object) -> None:
    graph.check()  # type: ignore[attr-defined]


# --- the support agent ---------------------------------------------------------------------------------------------


def test_an_address_is_changed_when_people_agree() -> None:
    store = started(support, wish="Please send order 9201 to 8 Canal Walk, I have moved.")
    assert store.waiting()[0].tool == "shop.move"
    store.decide("approve")
    run(support, store)
    assert support_shop.order("9201").address == "8 Canal Walk"
    assert support_shop.moves() == [("9201", "31 Station Square", "8 Canal Walk")]
    assert store.result == '"Goes to 8 Canal Walk; the customer knows."'


def test_a_refused_address_stays_and_the_customer_learns_it() -> None:
    store = started(support, wish="Please send order 9201 to 8 Canal Walk.")
    store.decide("reject", message="It is on the van.")
    run(support, store)
    assert support_shop.moves() == []
    assert store.result == '"The address stays; the customer knows."'
    letter = mailbox.letters(support_shop.folder() / "mailbox")[0]
    assert "It is on the van." in letter.get_content()


def test_moving_it_there_again_does_nothing_and_what_arrived_stays() -> None:
    for _ in range(2):
        support_shop.move(number="9201", address="8 Canal Walk")
    assert len(support_shop.moves()) == 1
    with pytest.raises(support_shop.OnItsWay):
        support_shop.move(number="9134", address="8 Canal Walk")
    with pytest.raises(support_shop.NoSuchOrder):
        support_shop.move(number="1111", address="8 Canal Walk")


def test_a_letter_is_in_the_mailbox_once_and_no_header_is_smuggled_in(place: Path) -> None:
    given = {
        "recipient": "mona@example.com\nBcc: all@example.com",
        "subject": "Hello\r\nX-Evil: 1",
        "body": "Hi",
    }
    assert mailbox.deliver(place / "box", **given, key="one")
    assert not mailbox.deliver(place / "box", **given, key="one")
    assert mailbox.deliver(place / "box", **given, key="two")
    letters = mailbox.letters(place / "box")
    assert len(letters) == 2
    assert letters[0]["Bcc"] is None
    assert letters[0]["X-Evil"] is None
    assert list((place / "box" / "tmp").iterdir()) == []
    for letter in (place / "box" / "new").iterdir():
        letter.rename(place / "box" / "cur" / f"{letter.name}:2,S")
    assert not mailbox.deliver(place / "box", **given, key="one")


# --- the migration agent -------------------------------------------------------------------------------------------


def test_the_name_is_split_once_people_agree() -> None:
    store = started(migration)
    assert scratch.migrations() == []
    assert not any("first_name" in table for table in scratch.tables())
    store.decide("approve")
    assert run(migration, store) == "finished"
    assert len(scratch.migrations()) == 1
    with sqlite3.connect(support_shop.folder() / "scratch.sqlite3") as base:
        assert base.execute("SELECT first_name, last_name FROM customers WHERE id = 1").fetchone() == (
            "Mona",
            "Berg",
        )
    assert (store.result or "").startswith('"Migrated')


def test_what_fails_on_the_copy_is_proposed_again() -> None:
    store = started(migration, wish="Drop the fax number, nobody has one.")
    assert store.waiting()[0].tool == "db.migrate"
    state = json.loads(store.snapshots[-1].state)
    assert state["failures"] == 1
    assert state["statements"] == ["ALTER TABLE customers DROP COLUMN fax"]


def test_a_wish_it_does_not_know_and_one_that_is_refused() -> None:
    assert (started(migration, wish="Make it faster.").result or "").startswith('"No statements')
    store = started(migration)
    store.decide("reject")
    run(migration, store)
    assert store.result == '"Not migrated: refused"'
    assert scratch.migrations() == []


def test_a_migration_runs_once_per_key_and_only_on_the_schema_it_was_written_for() -> None:
    known = scratch.schema_hash()
    adding = ["ALTER TABLE orders ADD COLUMN note TEXT"]
    assert scratch.migrated(adding, schema_hash=known, key="one")
    assert not scratch.migrated(adding, schema_hash=known, key="one")
    with pytest.raises(scratch.BadStatement, match="has changed"):
        scratch.migrated(adding, schema_hash=known, key="two")


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE 'x' AS x",
        "PRAGMA writable_schema=ON",
        "COMMIT",
        "SELECT 1; SELECT 2",
        "DROP TABLE nothing",
    ],
)
def test_what_would_leave_the_database_is_refused_and_nothing_is_done(statement: str, place: Path) -> None:
    with pytest.raises(scratch.BadStatement):
        scratch.tried([statement])
    known = scratch.schema_hash()
    with pytest.raises(scratch.BadStatement):
        scratch.migrated(["DELETE FROM orders", statement], schema_hash=known, key="one")
    with sqlite3.connect(place / "scratch.sqlite3") as base:
        assert base.execute("SELECT count(*) FROM orders").fetchone() == (scratch.ORDERS,)
    assert not (place / "x").exists()


# --- the claims batch ----------------------------------------------------------------------------------------------


def test_every_document_is_a_checkpoint_and_the_sum_is_paid_once() -> None:
    store = started(claims, documents=30, speed=1e9)
    # One at the start, one after each plan, and one after each document.
    assert len(store.snapshots) == 33
    assert [[step.id for step in plan.steps] for plan in store.plans] == [
        ["document", "pay"],
        ["document", "unclear", "pay"],
    ]
    assert store.signals().failures == 0
    assert store.waiting()[0].tool == "claims.pay"
    booked = claims_office.bookings()
    assert [number for number, _, _ in booked] == list(range(1, 31))
    assert {verdict for _, verdict, _ in booked} == {"pay", "reject", "unclear"}
    store.decide("approve")
    assert run(claims, store) == "finished"
    paid = claims_office.payments()
    assert len(paid) == 1
    assert paid[0][1] == str(claims_office.payable(30))


def test_a_worker_that_dies_goes_on_with_the_document_it_was_at(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore(policy=policy, input='{"documents": 20, "speed": 1e9}')
    save, saves = store.save, []

    def dying(**given: object) -> object:
        saves.append(given)
        if len(saves) == 15:
            raise KeyboardInterrupt
        return save(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "save", dying)
    with pytest.raises(KeyboardInterrupt):
        run(claims, store)
    booked = len(claims_office.bookings())
    assert run(claims, store) == "paused"
    assert booked == 14
    assert len(claims_office.bookings()) == 20


def test_a_document_is_the_same_every_time_and_a_batch_takes_hours() -> None:
    assert claims_office.document(7) == claims_office.document(7)
    hours = sum(claims_office.document(n).minutes for n in range(1, claims_office.DOCUMENTS + 1)) / 60
    assert 5 < hours < 12
