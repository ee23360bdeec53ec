"""`GET /events`: the record for programs, provable leaf by leaf."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.audit.erase import erase
from reviewhub.audit.models import Event
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
    ],
)
def test_a_bad_question_is_refused(cast: Cast, as_: Callable[[Member], Client], query: str) -> None:
    answer = as_(cast.carol).get(f"/api/v1/events?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
