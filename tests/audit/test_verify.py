"""Every way that one can think of to alter the record is refused, or found and located."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from reviewhub.accounts.models import Workspace
from reviewhub.audit import keys, merkle, statement
from reviewhub.audit.erase import erase
from reviewhub.audit.leaf import leaf_hash, payload_hash
from reviewhub.audit.models import Chain, Event, EventPayload, Position, Seal, SealKey
from reviewhub.audit.seal import Tip, seal, seal_all
from reviewhub.audit.verify import verify
from reviewhub.core.actors import SYSTEM
from tests.audit.conftest import tampering
from tests.audit.test_record import WORKSPACE, write

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_once")]


@pytest.fixture
def ids(db: None, at_once: None) -> list[int]:
    """Eight events in three seals, the second one erased; then one that waits."""
    Workspace.objects.create(pk=WORKSPACE, slug="w", name="W")
    made = [write(run_id=uuid.UUID(int=n)).pk for n in range(7)]
    erase(workspace_id=WORKSPACE, event_ids=[made[1]], actor=SYSTEM, because="asked for")
    from reviewhub.audit.seal import due

    due()
    while seal(WORKSPACE, batch=3):
        pass
    return [*Event.objects.order_by("pk").values_list("pk", flat=True), write().pk]


def sql(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)


def swap(first: int, second: int) -> None:
    """Two events change places."""
    for old, new in ((first, 0), (second, first), (0, second)):
        Position.objects.filter(position=old).update(position=new)


def new_words(pk: int) -> None:
    """Other words with a leaf of their own: everything about the event fits, but the chain."""
    event, payload = Event.objects.get(pk=pk), EventPayload.objects.get(pk=pk)
    body = payload.body.replace("shop.refund", "shop.refuse")
    hashed = payload_hash(salt=bytes(payload.salt), body=body)
    leaf = leaf_hash(workspace_id=WORKSPACE, kind=event.kind, at=event.at, payload=hashed)
    sentence = payload.sentence.replace("shop.refund", "shop.refuse")
    EventPayload.objects.filter(pk=pk).update(body=body, sentence=sentence)
    Event.objects.filter(pk=pk).update(leaf=leaf, tool="shop.refuse")


def rechain(pk: int) -> None:
    """The same, and the chain after it made anew, as far as one gets without the key."""
    new_words(pk)
    chain = statement.START
    for place in Position.objects.order_by("position").select_related("event"):
        chain = statement.link(chain, place.position, bytes(place.event.leaf))
        Position.objects.filter(pk=place.pk).update(chain=chain)


def forge(pk: int) -> None:
    """The same, and every seal made anew with a key of one's own."""
    rechain(pk)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    mine = Ed25519PrivateKey.generate()
    public = mine.public_key().public_bytes_raw().hex()
    SealKey.objects.update(public=public)
    previous = ""
    for one in Seal.objects.order_by("number"):
        places = list(
            Position.objects.filter(position__range=(one.first, one.last))
            .order_by("position")
            .select_related("event")
        )
        said = statement.read(one.statement)
        fields = {
            "root": merkle.root_of([bytes(place.event.leaf) for place in places]).hex(),
            "chain": bytes(places[-1].chain).hex(),
            "previous": previous,
            "key": public,
        }
        text = statement.Statement(**{**vars(said), **fields}).text()
        Seal.objects.filter(pk=one.pk).update(statement=text, signature=mine.sign(statement.signed(text)))
        previous = statement.digest(text)


def drop_tail(ids: list[int]) -> None:
    """The last seal never was, and its events neither."""
    Seal.objects.filter(number=3).delete()
    gone = list(Position.objects.filter(position__gt=6).values_list("event_id", flat=True))
    Position.objects.filter(position__gt=6).delete()
    EventPayload.objects.filter(pk__in=[*gone, ids[8]]).delete()
    Event.objects.filter(pk__in=[*gone, ids[8]]).delete()
    tip = Position.objects.get(position=6)
    Chain.objects.update(xid=tip.event.xid, event_id=tip.event_id)


ONE_LATER = timedelta(microseconds=1)
WAYS: dict[str, tuple[Callable[[list[int]], object], str]] = {
    "another kind": (
        lambda ids: Event.objects.filter(pk=ids[3]).update(kind="run.finished"),
        "seal 2, position 4, event {3}: the leaf is not that of the event's kind, time and words",
    ),
    "another time": (
        lambda ids: Event.objects.filter(pk=ids[0]).update(at=datetime(2020, 1, 1, tzinfo=UTC)),
        "seal 1, position 1, event {0}: the leaf is not that of the event's kind, time and words",
    ),
    "another time, erased": (
        lambda ids: Event.objects.filter(pk=ids[1]).update(leaf=b"x" * 32),
        "seal 1, position 2, event {1}: the chain does not fit: the leaf or the position is not the one"
        " that was sealed",
    ),
    "other words": (
        lambda ids: sql(
            f"UPDATE audit_eventpayload SET body = replace(body, 'Mina', 'Nina') WHERE event_id = {ids[4]}"
        ),
        "seal 2, position 5, event {4}: the leaf is not that of the event's kind, time and words",
    ),
    "another salt": (
        lambda ids: EventPayload.objects.filter(pk=ids[4]).update(salt=b"s" * 15),
        "seal 2, position 5, event {4}: the salt does not have 16 bytes",
    ),
    "another sentence": (
        lambda ids: EventPayload.objects.filter(pk=ids[2]).update(sentence="Nothing happened"),
        "seal 1, position 3, event {2}: the columns of who did what are not what the event says",
    ),
    "another name": (
        lambda ids: EventPayload.objects.filter(pk=ids[2]).update(actor_name="Nina"),
        "seal 1, position 3, event {2}: the columns of who did what are not what the event says",
    ),
    "another actor": (
        lambda ids: Event.objects.filter(pk=ids[2]).update(actor_id=uuid.UUID(int=8)),
        "seal 1, position 3, event {2}: the columns of who did what are not what the event says",
    ),
    "hidden from its run": (
        lambda ids: Event.objects.filter(pk=ids[5]).update(run_id=None),
        "seal 2, position 6, event {5}: the columns of what it is about are not what the event says",
    ),
    "hidden from its tool": (
        lambda ids: Event.objects.filter(pk=ids[5]).update(tool=""),
        "seal 2, position 6, event {5}: the columns of what it is about are not what the event says",
    ),
    "in another workspace": (
        lambda ids: Event.objects.filter(pk=ids[1]).update(workspace_id=uuid.UUID(int=9)),
        "seal 1, position 2, event {1}: the event belongs to another workspace",
    ),
    "words of an erased one": (
        lambda ids: EventPayload.objects.filter(pk=ids[1]).update(sentence="Mina did nothing"),
        "seal 1, position 2, event {1}: called erased, but it has words",
    ),
    "other words with their leaf": (
        lambda ids: new_words(ids[3]),
        "seal 2, position 4, event {3}: the chain does not fit: the leaf or the position is not the one"
        " that was sealed",
    ),
    "other words with leaf and chain": (
        lambda ids: rechain(ids[3]),
        "seal 2: the root over its leaves is another one",
    ),
    "all of it with another key": (
        lambda ids: forge(ids[3]),
        "seal 1: the key {key} is not one of the trusted ones",
    ),
    "an event is gone": (
        lambda ids: Event.objects.filter(pk=ids[6])._raw_delete(using="default"),
        "seal 3, position 7, event {6}: the event is missing",
    ),
    "words are gone": (
        lambda ids: EventPayload.objects.filter(pk=ids[6]).delete(),
        "seal 3, position 7, event {6}: the event's words are missing",
    ),
    "a position is gone": (
        lambda ids: Position.objects.filter(pk=ids[0]).delete(),
        "seal 1, position 1: the position is missing",
    ),
    "an event with its place is gone": (
        lambda ids: [
            rows.filter(pk=ids[4])._raw_delete(using="default")
            for rows in (Position.objects, EventPayload.objects, Event.objects)
        ],
        "seal 2, position 5: the position is missing",
    ),
    "two change places": (
        lambda ids: swap(4, 5),
        "seal 2, position 4, event {4}: the chain does not fit: the leaf or the position is not the one"
        " that was sealed",
    ),
    "another chain": (
        lambda ids: Position.objects.filter(position=7).update(chain=b"c" * 32),
        "seal 3, position 7, event {6}: the chain does not fit: the leaf or the position is not the one"
        " that was sealed",
    ),
    "one put in": (
        lambda ids: sql(
            "INSERT INTO audit_event (id, workspace_id, kind, at, xid, leaf, actor_kind, tool)"
            f" SELECT -id, workspace_id, kind, at, -1, leaf, actor_kind, tool FROM audit_event WHERE id = {ids[4]}"
        ),
        "event -{4}: the event was put in later: it is older than what is sealed, and has no position",
    ),
    "a position put in": (
        lambda ids: Position.objects.create(
            event_id=ids[8], workspace_id=WORKSPACE, position=9, chain=b"c" * 32
        ),
        "position 9: the position is in no seal",
    ),
    "a seal is gone": (
        lambda ids: Seal.objects.filter(number=2).delete(),
        "seal 2: the seal is missing",
    ),
    "a signature": (
        lambda ids: Seal.objects.filter(number=2).update(signature=b"s" * 64),
        "seal 2: the signature is not that of the statement",
    ),
    "a statement": (
        lambda ids: sql("UPDATE audit_seal SET statement = replace(statement, '\"last\":6', '\"last\":5')"),
        "seal 2: the signature is not that of the statement",
    ),
    "a statement that is none": (
        lambda ids: Seal.objects.filter(number=1).update(statement="{}"),
        "seal 1: the statement cannot be read",
    ),
    "a seal's columns": (
        lambda ids: Seal.objects.filter(number=2).update(last=5),
        "seal 2: the row says something else than its statement",
    ),
    "a seal of another place": (
        lambda ids: Seal.objects.filter(number=2).update(
            statement=Seal.objects.get(number=1).statement, signature=Seal.objects.get(number=1).signature
        ),
        "seal 2: the row says something else than its statement",
    ),
    "the end is gone": (
        drop_tail,
        "seal 3: the seal that was made at {sealed_at} is not in the database any more:"
        " a restored backup, or rows were removed",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_alter_the_record_is_located(ids: list[int], way: str) -> None:
    alter, expected = WAYS[way]
    assert verify(WORKSPACE).broken is None
    sealed_at = statement.read(Seal.objects.get(number=3).statement).sealed_at
    with tampering():
        alter(ids)
        said = expected.format(
            *ids, key=keys.short(SealKey.objects.latest("number").public), sealed_at=sealed_at
        )
        assert str(verify(WORKSPACE).broken) == said
        with pytest.raises(CommandError, match="of 1 workspace is not"):
            call_command("audit", "verify")
    assert verify(WORKSPACE).broken is None


def test_with_the_guards_on_none_of_it_passes(ids: list[int]) -> None:
    for table in ("audit_position", "audit_seal", "audit_sealkey"):
        column = "position" if table == "audit_position" else "number"
        for change in (f"UPDATE {table} SET {column} = 99", f"DELETE FROM {table}"):
            with pytest.raises(IntegrityError, match="rows are never"), transaction.atomic():
                sql(change)
        if connection.vendor == "sqlite":
            with pytest.raises(IntegrityError, match="nor written anew"), transaction.atomic():
                sql(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")
        else:
            with pytest.raises(IntegrityError, match="rows are never"), transaction.atomic():
                sql(f"SET CONSTRAINTS ALL IMMEDIATE; TRUNCATE {table}")


def test_small_batches_find_the_same_and_the_walk_says_how_far_it_is(
    ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviewhub.audit.verify.BATCH", 2)
    monkeypatch.setattr("reviewhub.audit.verify._IDS", 3)
    seen: list[int] = []
    found = verify(WORKSPACE, progress=seen.append)
    assert (found.broken, found.seals, found.events, found.erased, found.waiting) == (None, 3, 8, 1, 1)
    assert seen == [2, 3, 5, 6, 8]
    assert seal_all() == 1 and Tip.of(WORKSPACE).last == 9
