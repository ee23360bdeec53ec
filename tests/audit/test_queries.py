"""The list of events, and erasing what they say."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from reviewhub.audit import search
from reviewhub.audit.erase import erase
from reviewhub.audit.models import Event, EventPayload
from reviewhub.audit.queries import Filters, list_events
from reviewhub.core import keyset
from reviewhub.core.actors import SYSTEM, Actor
from reviewhub.core.errors import Invalid
from tests.audit.test_record import MINA, WORKSPACE, Happened, write

pytestmark = pytest.mark.django_db
RUN, REQUEST, AGENT, KEY = (uuid.uuid4() for _ in range(4))
ORDER = '{"amount":"12.00","order":"8812"}'
BOB = Actor(kind="person", name="Bob", id=uuid.uuid4())


@pytest.fixture
def events() -> list[int]:
    return [
        write(run_id=RUN).pk,
        write(run_id=RUN, request_id=REQUEST, agent_id=AGENT, actor=BOB, arguments=ORDER).pk,
        write(data=Happened(tool="mail.send"), actor=SYSTEM).pk,
        write(subject_id=KEY, data=Happened(tool="50%_off")).pk,
        write(workspace_id=uuid.uuid4(), run_id=RUN, request_id=REQUEST, agent_id=AGENT, actor=BOB).pk,
    ]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [3, 2, 1, 0]),
        ({"actor_id": BOB.id}, [1]),
        ({"actor_id": MINA.id}, [3, 0]),
        ({"actor_kind": "system"}, [2]),
        ({"agent_id": AGENT}, [1]),
        ({"run_id": RUN}, [1, 0]),
        ({"request_id": REQUEST}, [1]),
        ({"subject_id": KEY}, [3]),
        ({"tool": "mail.send"}, [2]),
        ({"tool": "mail"}, []),
        ({"kind": "tests.happened"}, [3, 2, 1, 0]),
        ({"kind": "tests.never"}, []),
        ({"text": "MAIL"}, [2]),
        ({"text": "%_"}, [3]),
        ({"text": "\x00"}, []),
        ({"about_id": KEY}, [3]),
        ({"about_id": MINA.id}, [3, 0]),
        ({"team_id": KEY, "agent_ids": (AGENT,)}, [3, 1]),
        ({"team_id": uuid.uuid4()}, []),
        ({"team_id": KEY, "agent_ids": (AGENT,), "agent_id": AGENT}, [1]),
        ({"team_id": KEY, "agent_ids": (AGENT,), "agent_id": KEY}, []),
        ({"kind": "tests.happened", "actor_kind": "system"}, [2]),
        ({"text": 'ORDER":"8812'}, [1]),
        ({"text": "8812", "actor_kind": "system"}, []),
        ({"text": "8812 refund"}, [1]),
        ({"text": "  refund\n 88 "}, [1]),
        ({"text": "8812 mail"}, []),
        ({"text": '"8812 refund"'}, []),
        ({"text": '"12.00" refund'}, [1]),
        ({"run_id": RUN, "actor_id": BOB.id}, [1]),
    ],
)
def test_filters(events: list[int], filters: dict[str, Any], expected: list[int]) -> None:
    page = list_events(workspace_id=WORKSPACE, filters=Filters(**filters))
    assert [event.pk for event in page.events] == [events[index] for index in expected]


def test_a_search_goes_on_behind_what_it_looked_at(
    events: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is up after each part: then it says how far it came, and the cursor finds the rest."""
    monkeypatch.setattr(search, "SECONDS", -1)
    monkeypatch.setattr(search, "FIRST", 1)
    monkeypatch.setattr(search, "all_in_time", lambda ways: None)
    found, before, pages = [], "", 0
    while before or not pages:
        page = search.search_events(workspace_id=WORKSPACE, filters=Filters(text="8812"), before=before)
        assert (page.reached is None) == (page.next == "")
        found += [event.pk for event in page.events]
        before, pages = page.next, pages + 1
    assert (found, pages) == ([events[1]], 5)


@pytest.mark.parametrize("first", [1, 5000])
def test_a_search_finds_what_is_old_and_stops_when_the_page_is_full(
    events: list[int], monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr(search, "FIRST", first)
    page = search.search_events(workspace_id=WORKSPACE, filters=Filters(text="refund"), limit=1)
    assert [event.pk for event in page.events] == [events[1]]
    rest = search.search_events(workspace_id=WORKSPACE, filters=Filters(text="refund"), before=page.next)
    assert [event.pk for event in rest.events] == [events[0]]
    assert rest.next == ""


@pytest.mark.parametrize("before", ["x", "WzFd", keyset.write(["2026-01-01T00:00:00", 1])])
def test_what_is_no_cursor_is_refused(before: str) -> None:
    with pytest.raises(Invalid):
        list_events(workspace_id=WORKSPACE, before=before)


def test_times_are_from_and_up_to(events: list[int]) -> None:
    at = Event.objects.get(pk=events[2]).at
    instant = timedelta(microseconds=1)
    for since, until in ((at, at + instant), (at, None)):
        page = list_events(workspace_id=WORKSPACE, filters=Filters(since=since, until=until))
        assert events[2] in [event.pk for event in page.events]
    for since, until in ((at + instant, None), (None, at)):
        page = list_events(workspace_id=WORKSPACE, filters=Filters(since=since, until=until))
        assert events[2] not in [event.pk for event in page.events]


def test_pages_go_on_where_the_last_one_ended(events: list[int], django_assert_num_queries: Any) -> None:
    found: list[int] = []
    before = ""
    for _ in range(2):
        with django_assert_num_queries(1):
            page = list_events(workspace_id=WORKSPACE, before=before, limit=2)
            found += [event.pk for event in page.events if event.payload.sentence]
        before = page.next
    assert found == events[3::-1]
    assert before == ""


class TestErase:
    def test_what_was_said_is_gone_and_that_it_happened_stays(self, events: list[int]) -> None:
        leaf = bytes(Event.objects.get(pk=events[1]).leaf)
        count = erase(workspace_id=WORKSPACE, event_ids=events[:2], actor=MINA, because="asked for on 3 May")
        assert count == 2
        payload = EventPayload.objects.get(pk=events[1])
        assert (bytes(payload.salt), payload.actor_name, payload.sentence, payload.body) == (b"", "", "", "")
        assert payload.arguments == ""
        assert payload.erased_at is not None
        assert bytes(Event.objects.get(pk=events[1]).leaf) == leaf
        newest = list_events(workspace_id=WORKSPACE).events[0]
        assert newest.kind == "audit.erased"
        assert newest.payload.sentence == "Mina erased what 2 events said: asked for on 3 May"

    def test_twice_erases_and_records_once(self, events: list[int]) -> None:
        assert erase(workspace_id=WORKSPACE, event_ids=events[:1], actor=MINA, because="x") == 1
        assert erase(workspace_id=WORKSPACE, event_ids=events[:1], actor=MINA, because="x") == 0
        assert Event.objects.filter(kind="audit.erased").count() == 1

    def test_events_of_others_are_left_alone(self, events: list[int]) -> None:
        assert erase(workspace_id=WORKSPACE, event_ids=events[4:], actor=MINA, because="x") == 0
        assert EventPayload.objects.get(pk=events[4]).body != ""

    def test_no_reason_no_erasure(self, events: list[int]) -> None:
        with pytest.raises(Invalid):
            erase(workspace_id=WORKSPACE, event_ids=events, actor=MINA, because=" ")
        assert not EventPayload.objects.filter(erased_at__isnull=False).exists()
