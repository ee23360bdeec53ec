"""Saved views: kept the same way whoever writes the address, one's own, and only of pages that one may read."""

import re
from collections.abc import Callable
from html import unescape
from urllib.parse import parse_qs

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reviewhub.accounts import save_view as verb
from reviewhub.accounts.models import Member, SavedView
from reviewhub.audit.models import Event
from reviewhub.web.saved import kept, way_back
from tests.cast import Cast
from tests.web.make import waiting

As = Callable[[Member], Client]


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ("", ""),
        ("cursor=x&limit=100&since=4", ""),
        ("q=", ""),
        ("risk=low&tool=b&tool=a&q=%C3%A9clair&tool=a", "q=%C3%A9clair&risk=low&tool=a&tool=b"),
        ("late=1&evil=%3Cscript%3E", "late=1"),
    ],
)
def test_a_view_keeps_what_narrows_in_one_order(given: str, query: str) -> None:
    assert kept("queue", parse_qs(given)) == query


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ("", ""),
        ("risk=low&cursor=x&late=1", "?late=1&risk=low&cursor=x"),
        ("limit=25&evil=%0d%0aLocation%3A&q=a%22%3Cb", "?q=a%22%3Cb&limit=25"),
        ("//elsewhere.example/?q=x", ""),
    ],
)
def test_the_way_back_leads_nowhere_but_into_the_queue(given: str, query: str) -> None:
    assert way_back(parse_qs(given)) == query


def test_what_was_decided_together_or_put_off_leads_back_to_what_was_shown(cast: Cast, as_: As) -> None:
    rows = [waiting(cast.support, risk="low") for _ in range(3)]
    bob, where = as_(cast.bob), "/northwind/queue?risk=low&limit=25"
    back = re.findall(r'name="back" value="([^"]*)"', bob.get(where).content.decode())
    assert back == ["?risk=low&amp;limit=25"]
    given = {"type": "reject", "pick": [f"{row.number}:1:{row.digest}" for row in rows[:2]], "key": "k"}
    for path, more in (("bulk", {}), ("bulk/send", {}), ("bulk/send", {"message": "No."})):
        answer = bob.post(f"/northwind/queue/{path}", given | more | {"back": unescape(back[0])})
        told = answer.content.decode()
        assert told.count('href="/northwind/queue?risk=low&amp;limit=25"') == 2, path
    put_off = {"minutes": "15", "back": "?limit=25&risk=low&next=//elsewhere.example"}
    answer = bob.post(f"/northwind/requests/{rows[2].number}/snooze", put_off)
    assert answer.headers["Location"] == where


def test_what_is_put_off_counts_nowhere(cast: Cast, as_: As) -> None:
    row, _ = waiting(cast.support, risk="low"), waiting(cast.support)
    bob = as_(cast.bob)
    save(bob, "Low", "risk=low")
    assert ">1</span>" in bob.get("/northwind/views/counts").content.decode()
    bob.post(f"/northwind/requests/{row.number}/snooze", {"minutes": "15"})
    page = bob.get("/northwind/queue").content.decode()
    assert "<title>(1) Queue" in page and 'id="top-count">1<' in page and 'id="nav-count">1<' in page
    counts = bob.get("/northwind/views/counts").content.decode()
    assert ">0</span>" in counts and 'hx-swap-oob="true"' in counts
    assert "<title>(2) Queue" in as_(cast.alice).get("/northwind/queue").content.decode()
    assert "view-" not in as_(cast.alice).get("/northwind/views/counts").content.decode()


def save(client: Client, name: str, query: str, page: str = "queue") -> int:
    return client.post("/northwind/views/save", {"name": name, "query": query, "page": page}).status_code


def test_a_view_says_how_much_it_finds_in_one_query_for_all(cast: Cast, as_: As) -> None:
    waiting(cast.support, risk="low")
    waiting(cast.support)
    waiting(cast.finance, risk="low", agent="treasury")
    bob = as_(cast.bob)

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            shown = bob.get("/northwind/queue").content.decode()
        assert re.findall(r'class="num mute">([^<]*)</span></a>', shown) == found
        return len(queries)

    found = ["1"]
    save(bob, "Low", "risk=low")
    few = asked()
    found += ["0", "2"]
    save(bob, "None", "tool=none")
    save(bob, "Refunds", "q=refund")
    assert asked() == few
    assert '<span class="num mute">2</span>' in bob.get("/northwind/start").content.decode()


def test_a_view_is_ones_own_and_marked_where_one_is(cast: Cast, as_: As) -> None:
    bob = as_(cast.bob)
    assert "Save this view" not in bob.get("/northwind/queue").content.decode()
    answer = bob.post(
        "/northwind/views/save", {"name": "Late <b>", "query": "late=1&cursor=x", "page": "queue"}
    )
    assert answer.headers["Location"] == "/northwind/queue?late=1"
    shown = bob.get("/northwind/queue?late=1").content.decode()
    assert 'href="/northwind/queue?late=1" aria-current="true">' in shown
    assert "Late <b>" not in shown
    assert "Remove this view" in shown
    assert "Saved views" not in as_(cast.dave).get("/northwind/queue").content.decode()
    row = SavedView.objects.get()
    assert as_(cast.dave).post(f"/northwind/views/{row.pk}/remove").status_code == 404
    bob.post(f"/northwind/views/{row.pk}/remove")
    assert not SavedView.objects.exists()
    assert list(Event.objects.order_by("id").values_list("kind", flat=True)) == ["view.saved", "view.removed"]


def test_no_view_of_a_page_that_one_may_not_read(cast: Cast, as_: As) -> None:
    assert save(as_(cast.bob), "Mine", "kind=run.started", page="audit") == 403
    assert not SavedView.objects.exists()
    assert save(as_(cast.carol), "Mine", "kind=run.started", page="audit") == 302
    assert SavedView.objects.get().query == "kind=run.started"


def test_the_same_name_in_other_letters_is_the_same_view(
    cast: Cast, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "MOST", 2)
    bob = as_(cast.bob)
    for name, query in (("Éclair", "q=1"), ("ÉCLAIR", "q=2"), ("second", "q=3"), ("third", "q=4")):
        save(bob, name, query)
    rows = SavedView.objects.order_by("query").values_list("name", "query")
    assert list(rows) == [("ÉCLAIR", "q=2"), ("second", "q=3")]
    for name, query in (("", "q=5"), ("a\u202eb", "q=5"), ("empty", "cursor=5"), ("long", f"q={'x' * 5000}")):
        assert save(bob, name, query) == 302
    assert SavedView.objects.count() == 2
