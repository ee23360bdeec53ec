"""`GET /events`: the record for programs, provable leaf by leaf."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.audit import feed
from reviewhub.audit.erase import erase
from reviewhub.audit.models import Event
from reviewhub.core.actors import SYSTEM, Actor
from tests.audit.test_record import MINA, Happened, write
from tests.audit.waiting import settle
from tests.cast import Cast, make_cast, make_test_agent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def as_() -> Callable[[Member], Client]:
    def sign_in(member: Member) -> Client:
        client = Client()
        client.force_login(member.person)
        return client

    return sign_in


def events(cast: Cast, count: int = 3) -> list[int]:
    with transaction.atomic():
        write(workspace_id=cast.other.pk)
        ids = [write(workspace_id=cast.workspace.pk, data=Happened(tool=f"t{n}é")).pk for n in range(count)]
    settle()
    return ids


def leaf_by_hand(item: dict[str, Any]) -> str:
    """What somebody computes who has nothing but the answer and the documentation."""
    body = json.dumps(item["body"], sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    payload = hashlib.sha256(b"reviewhub payload 1\n" + bytes.fromhex(item["salt"]) + body).digest()
    at = datetime.fromisoformat(item["at"]) - datetime(1970, 1, 1, tzinfo=UTC)
    kind = item["kind"].encode()
    return hashlib.sha256(
        b"reviewhub event 1\n"
        + UUID(item["workspace"]).bytes
        + len(kind).to_bytes(2, "big")
        + kind
        + (at // timedelta(microseconds=1)).to_bytes(8, "big", signed=True)
        + payload
    ).hexdigest()


def test_a_program_follows_the_record_and_checks_it(cast: Cast, as_: Callable[[Member], Client]) -> None:
    ids = events(cast)
    client = as_(cast.carol)
    client.get("/api/v1/events?limit=1")  # her look is recorded once, and then part of what she follows
    settle()
    first = client.get("/api/v1/events?limit=2").json()
    assert ([item["id"] for item in first["items"]], first["more"]) == (ids[:2], True)
    rest = client.get("/api/v1/events", {"after": first["next"]}).json()
    look = Event.objects.get(kind="audit.read").pk
    assert ([item["id"] for item in rest["items"]], rest["more"]) == ([*ids[2:], look], False)
    for item in first["items"] + rest["items"][:-1]:
        assert item["leaf"] == leaf_by_hand(item)
        assert item["body"]["sentence"].startswith("Mina ran t")
    assert client.get("/api/v1/events", {"after": rest["next"]}).json() == {
        "items": [],
        "next": rest["next"],
        "more": False,
    }


ALL = [0, 1, 2, 3]
NARROWED: list[tuple[dict[str, str], list[int]]] = [
    ({"actor": "{bob}"}, [1]),
    ({"actor_kind": "system"}, [2]),
    ({"about": "{key}"}, [3]),
    ({"agent": "{agent}"}, [1]),
    ({"team": "{key}"}, [3]),
    ({"run": "{run}"}, [0, 1]),
    ({"run": "ticket-7"}, []),
    ({"request": "{request}"}, [1]),
    ({"kind": "tests.happened"}, ALL),
    ({"kind": "audit.sealed_never"}, []),
    ({"tool": "mail.send"}, [2]),
    ({"text": "MAIL"}, [2]),
    ({"text": "8812"}, [1]),
    ({"text": "%_"}, [3]),
    ({"since": "2999-01-01"}, []),
    ({"until": "2001-01-01T00:00:00+01:00"}, []),
    ({"since": "2001-01-01", "tool": "mail.send", "text": "mail"}, [2]),
]


@pytest.mark.parametrize("in_parts", [False, True])
def test_the_filters_of_the_page(
    cast: Cast, as_: Callable[[Member], Client], in_parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an index, and part by part when that takes too long: the same events, and never one of them left out."""
    ids = {name: uuid4() for name in ("bob", "key", "agent", "run", "request")}
    bob = Actor(kind="person", name="Bob", id=ids["bob"])
    where = {"workspace_id": cast.workspace.pk}
    with transaction.atomic():
        about = {"run_id": ids["run"], "request_id": ids["request"], "agent_id": ids["agent"]}
        made = [
            write(run_id=ids["run"], **where).pk,
            write(actor=bob, arguments='{"order":"8812"}', **about, **where).pk,
            write(data=Happened(tool="mail.send"), actor=SYSTEM, **where).pk,
            write(subject_id=ids["key"], data=Happened(tool="50%_off"), **where).pk,
        ]
        write(actor=bob, workspace_id=cast.other.pk, **about)
    settle()
    if in_parts:
        monkeypatch.setattr(feed, "all_in_time", lambda ways: None)
        monkeypatch.setattr(feed, "FIRST", 1)
        monkeypatch.setattr(feed, "SECONDS", -1)
    client = as_(cast.carol)
    for narrowed, expected in NARROWED:
        asked = {name: value.format(**ids) for name, value in narrowed.items()}
        if asked.get("kind") == "audit.sealed_never":
            assert client.get("/api/v1/events", asked).json()["errors"][0]["path"] == "/query/kind"
            continue
        found, after, more = [], "", True
        while more:
            answer = client.get("/api/v1/events", {**asked, "limit": "1", "after": after}).json()
            found += [item["id"] for item in answer["items"] if item["kind"] == "tests.happened"]
            after, more = answer["next"], answer["more"]
        assert found == [made[at] for at in expected], narrowed
    looks = Event.objects.filter(kind="audit.read").values_list("payload__sentence", flat=True)
    assert any("“tool mail.send” as it comes" in said for said in looks)


def test_what_does_not_fit_is_not_looked_at_again(cast: Cast, as_: Callable[[Member], Client]) -> None:
    """The cursor passes it, so who waits for something rare does not read the whole record each time."""
    events(cast)
    client = as_(cast.carol)
    first = client.get("/api/v1/events?kind=alarm.raised").json()
    assert (first["items"], first["more"]) == ([], False)
    assert first["next"]
    with transaction.atomic():
        late = write(workspace_id=cast.workspace.pk).pk
    settle()
    rest = client.get("/api/v1/events", {"after": first["next"], "kind": "tests.happened"}).json()
    assert [item["id"] for item in rest["items"]] == [late]


def test_an_erased_event_keeps_its_leaf_and_says_nothing(cast: Cast, as_: Callable[[Member], Client]) -> None:
    (one,) = events(cast, 1)
    leaf = bytes(Event.objects.get(pk=one).leaf).hex()
    erase(workspace_id=cast.workspace.pk, event_ids=[one], actor=MINA, because="asked for")
    item = as_(cast.alice).get("/api/v1/events").json()["items"][0]
    assert (item["leaf"], "body" in item, "salt" in item) == (leaf, False, False)
    assert item["erased_at"]


def test_only_managers_and_admins_read_it_and_only_their_own(
    cast: Cast, as_: Callable[[Member], Client], client: Client
) -> None:
    ids = events(cast)
    assert as_(cast.bob).get("/api/v1/events").status_code == 403
    assert client.get("/api/v1/events").status_code == 401
    _, _, key = make_test_agent(cast.support)
    assert client.get("/api/v1/events", headers={"Authorization": f"Bearer {key}"}).status_code in (401, 403)
    assert as_(cast.mallory).get("/api/v1/events?workspace=northwind").status_code == 404
    theirs = as_(cast.mallory).get("/api/v1/events").json()["items"]
    assert len(theirs) == 1
    assert theirs[0]["id"] not in ids


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "limit=٣",
        "limit=1e3",
        "after=nonsense",
        "after=%F0%9F",
        "kind=",
        "kind=nothing",
        "actor=bob",
        "actor_kind=nobody",
        "run=%20",
        "text=",
        "since=yesterday",
        "team=1",
    ],
)
def test_a_bad_question_is_refused(cast: Cast, as_: Callable[[Member], Client], query: str) -> None:
    answer = as_(cast.carol).get(f"/api/v1/events?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
