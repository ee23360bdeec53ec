"""Events are written with what they record, or not at all."""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction

from reviewhub.audit import kinds
from reviewhub.audit.kinds import Payload, kind
from reviewhub.audit.leaf import leaf_hash, payload_hash
from reviewhub.audit.models import Event, EventPayload
from reviewhub.audit.record import Entry, record, record_many
from reviewhub.audit.signals import Recorded, event_recorded
from reviewhub.core.actors import TIMEOUT, Actor
from reviewhub.core.display.secrets import masked

WORKSPACE = uuid.UUID("01890000-0000-7000-8000-000000000001")
MINA = Actor(
    kind="person", name="Mina", id=uuid.UUID(int=7), source="page", ip="192.0.2.7", http_request="r-1"
)


@kind("tests.happened", says="{actor} ran {tool} {times} times")
class Happened(Payload):
    tool: str = "shop.refund"
    count: int = 2

    @property
    def times(self) -> str:
        return "two" if self.count == 2 else str(self.count)


class Other(Payload):
    tool: str = ""


def write(**fields: Any) -> Event:
    """The event as it stands in the database."""
    made = record("tests.happened", **{"workspace_id": WORKSPACE, "actor": MINA, "data": Happened()} | fields)
    return Event.objects.get(pk=made.id)


@pytest.mark.django_db
class TestRecord:
    def test_writes_both_halves_with_a_leaf_that_anybody_can_compute_again(self) -> None:
        run = uuid.uuid4()
        event = Event.objects.get(pk=write(run_id=run).pk)
        payload = event.payload
        body = json.loads(payload.body)
        assert payload.sentence == body["sentence"] == "Mina ran shop.refund two times"
        assert body["refs"] == {"run_id": str(run)}
        assert body["data"] == {"tool": "shop.refund", "count": 2}
        assert body["actor"]["name"] == payload.actor_name == "Mina"
        assert body["actor"]["ip"] == "192.0.2.7"
        assert event.tool == "shop.refund"
        assert payload.body == json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        hashed = payload_hash(salt=bytes(payload.salt), body=payload.body)
        assert bytes(event.leaf) == leaf_hash(
            workspace_id=event.workspace_id, kind=event.kind, at=event.at, payload=hashed
        )

    def test_equal_events_have_different_leaves(self) -> None:
        first, second = record_many(
            [Entry(kind="tests.happened", workspace_id=WORKSPACE, actor=MINA, data=Happened())] * 2
        )
        (at, leaf), (other_at, other_leaf) = (
            Event.objects.values_list("at", "leaf").get(pk=one.id) for one in (first, second)
        )
        assert at == other_at
        assert bytes(leaf) != bytes(other_leaf)

    def test_an_unknown_kind_raises(self) -> None:
        with pytest.raises(kinds.UnknownKind):
            record("tests.never", workspace_id=WORKSPACE, actor=MINA, data=Happened())

    def test_a_payload_of_another_model_raises(self) -> None:
        with pytest.raises(TypeError):
            write(data=Other())

    def test_one_bad_entry_of_many_writes_none(self) -> None:
        good = Entry(kind="tests.happened", workspace_id=WORKSPACE, actor=MINA, data=Happened())
        bad = Entry(kind="tests.happened", workspace_id=WORKSPACE, actor=MINA, data=Other())
        with pytest.raises(TypeError):
            record_many([good, bad])
        assert not Event.objects.exists()

    @pytest.mark.parametrize("name", ["a\x00b", "a\ud83cb"])
    def test_what_no_database_stores_is_replaced_and_not_fatal(self, name: str) -> None:
        event = write(actor=Actor(kind="agent", name=name), data=Happened(tool="t\x00"))
        stored = EventPayload.objects.get(pk=event.pk)
        assert stored.actor_name == "a\ufffdb"
        assert "\x00" not in stored.body and "t\ufffd" in stored.sentence

    def test_text_of_all_kinds_stays_as_it_is(self) -> None:
        event = write(data=Happened(tool='{actor} \u202e"\U0001f378\\'))
        assert 'ran {actor} \u202e"\U0001f378\\ two' in EventPayload.objects.get(pk=event.pk).sentence

    def test_the_announcement_follows_the_commit(self, django_capture_on_commit_callbacks: Any) -> None:
        heard: list[Recorded] = []

        def hear(event: Recorded, **rest: Any) -> None:
            heard.append(event)

        def fail(**rest: Any) -> None:
            raise RuntimeError("a broken receiver")

        event_recorded.connect(fail)
        event_recorded.connect(hear)
        try:
            with django_capture_on_commit_callbacks(execute=True):
                event = write(actor=TIMEOUT, request_id=uuid.UUID(int=3))
                assert heard == []
            with (
                django_capture_on_commit_callbacks(execute=True),
                pytest.raises(ZeroDivisionError),
                transaction.atomic(),
            ):
                write()
                raise ZeroDivisionError
        finally:
            event_recorded.disconnect(fail)
            event_recorded.disconnect(hear)
        assert [(one.id, one.request_id) for one in heard] == [(event.pk, uuid.UUID(int=3))]


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_it_raises() -> None:
    with pytest.raises(RuntimeError):
        write()
    assert not Event.objects.exists()


class TestKinds:
    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("tests.happened", "again"),
            ("Tests.Bad", "badly formed"),
            ("nodot", "badly formed"),
            ("tests.names_nothing", "{nothing}"),
            ("tests.reaches_deeper", "{tool.__class__}"),
            ("tests.formats", "{tool!r}"),
        ],
    )
    def test_what_cannot_work_is_refused_at_start(self, name: str, says: str) -> None:
        with pytest.raises(ValueError):
            kind(name, says=says)(Other)

    def test_a_model_that_takes_more_is_refused(self) -> None:
        from pydantic import BaseModel

        class Loose(BaseModel):
            tool: str

        with pytest.raises(ValueError):
            kind("tests.loose", says="")(Loose)


class TestLeaf:
    AT = datetime(2026, 11, 29, 14, 0, 0, 123456, tzinfo=UTC)

    def test_the_documented_bytes_are_what_is_hashed(self) -> None:
        payload = hashlib.sha256(b"reviewhub payload 1\n" + b"s" * 16 + '{"ü":1}'.encode()).digest()
        assert payload_hash(salt=b"s" * 16, body='{"ü":1}') == payload
        micro = 1795960800123456
        expected = hashlib.sha256(
            b"reviewhub event 1\n" + WORKSPACE.bytes + b"\x00\x03a.b" + micro.to_bytes(8, "big") + payload
        ).digest()
        assert leaf_hash(workspace_id=WORKSPACE, kind="a.b", at=self.AT, payload=payload) == expected

    def test_every_part_counts(self) -> None:
        base = {"workspace_id": WORKSPACE, "kind": "a.b", "at": self.AT, "payload": b"p" * 32}
        others: list[dict[str, Any]] = [
            {"workspace_id": uuid.UUID(int=2)},
            {"kind": "a.bc"},
            {"at": self.AT.replace(microsecond=123457)},
            {"payload": b"q" * 32},
        ]
        leaves = {leaf_hash(**base | other) for other in [{}, *others]}
        assert len(leaves) == 5

    def test_a_wrong_salt_or_a_time_without_zone_is_refused(self) -> None:
        with pytest.raises(ValueError):
            payload_hash(salt=b"short", body="")
        with pytest.raises(ValueError):
            leaf_hash(workspace_id=WORKSPACE, kind="a.b", at=self.AT.replace(tzinfo=None), payload=b"p" * 32)


SECRET = "sk_live_51H8abcdefghijkl"
MASKED = "sk_live_••••ijkl"


@pytest.mark.django_db
def test_the_record_never_learns_a_secret() -> None:
    """Whatever people or agents wrote, by every way into an event: nobody could take it out again."""
    actor = Actor(kind="person", name=f"Mina {SECRET}", id=uuid.UUID(int=7))
    event = write(actor=actor, data=Happened(tool=f"pay with {SECRET}"))
    payload = EventPayload.objects.get(event=event)
    assert payload.actor_name == f"Mina {MASKED}"
    assert payload.sentence == f"Mina {MASKED} ran pay with {MASKED} two times"
    assert SECRET not in payload.body
    assert json.loads(payload.body)["data"]["tool"] == f"pay with {MASKED}"
    hashed = payload_hash(salt=bytes(payload.salt), body=payload.body)
    assert bytes(event.leaf) == leaf_hash(
        workspace_id=WORKSPACE, kind=event.kind, at=event.at, payload=hashed
    )


SHAPES = [
    SECRET,
    "AKIAABCDEFGHIJKLMNOP",
    "Bearer abcdefghijklmn",
    "https://ann:hunter22@example.org",
    "password: 'hunter22'",
    'api_key="hunter22"',
    "-----BEGIN PRIVATE KEY-----\nabc",
]


@pytest.mark.django_db
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("around", ["{}", "\n{}", "a\\{}", '"{}"', "{}\n", "\t{}\\", "ü {}", "{} and {}"])
def test_it_is_masked_wherever_it_stands(shape: str, around: str) -> None:
    """What is before and behind it, also what is escaped in the body, hides it from nobody who looks."""
    text = around.replace("{}", shape)
    actor = Actor(kind="person", name=text, id=uuid.UUID(int=7))
    only_in_the_body = Actor(kind="system", name="system", http_request=text)
    event = write(actor=actor, data=Happened(tool=text), arguments=text)
    stored = EventPayload.objects.get(event=event)
    body, kept = json.loads(stored.body), masked(text)
    assert kept != text
    assert (stored.actor_name, stored.arguments) == (kept, kept)
    assert (body["actor"]["name"], body["data"]["tool"]) == (kept, kept)
    assert body["sentence"] == stored.sentence == masked(f"{text} ran {text} two times")
    assert event.tool == kept
    assert json.loads(write(actor=only_in_the_body).payload.body)["actor"]["http_request"] == kept


@pytest.mark.django_db
def test_arguments_alone_are_masked_too() -> None:
    stored = EventPayload.objects.get(event=write(arguments=f'{{"note":"{SECRET}"}}'))
    assert stored.arguments == f'{{"note":"{MASKED}"}}'


@pytest.mark.django_db
def test_ids_and_digests_are_no_secrets() -> None:
    plain = f"sha256:{'ab' * 32} {uuid.uuid4()} 2026-01-01T00:00:00Z"
    event = write(data=Happened(tool=plain))
    assert json.loads(EventPayload.objects.get(event=event).body)["data"]["tool"] == plain
