"""`GET /insights`: the figures of the page, for programs."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from reviewhub.insights.found import TABLES
from reviewhub.insights.roll_up import roll_up
from reviewhub.reviews.models import ReviewRequest
from tests.cast import Cast
from tests.driver import PersonHttp
from tests.insights.asked import final
from tests.web.make import waiting

pytestmark = pytest.mark.django_db
AT = datetime.now(UTC) - timedelta(hours=30)


@pytest.fixture
def carol(cast: Cast) -> PersonHttp:
    for at, state in enumerate(("approved", "approved", "edited", "rejected")):
        final(cast.support, state=state, at=AT, by=cast.bob, opened=1.0, waited=60 * (at + 1))
    final(cast.support, state="expired", at=AT, tool="mail.send", agent="mailer")
    roll_up()
    return PersonHttp(cast.carol)


def test_every_table_is_that_of_the_page(cast: Cast, carol: PersonHttp) -> None:
    found = carol.get("/insights?days=7").ok()
    assert set(found["tables"]) == set(TABLES)
    client = Client()
    client.force_login(cast.carol.person)
    for name, table in found["tables"].items():
        file = client.get(f"/northwind/insights/{name}.csv?days=7").content.decode()
        head, *rows = csv.reader(io.StringIO(file, newline=""))
        assert table["columns"] == head
        # A text that a spreadsheet would run has an apostrophe in the file only; there is none here.
        assert [["" if row[one] is None else str(row[one]) for one in head] for row in table["rows"]] == rows
    total = found["total"]
    assert (total["ended"], total["approved_share"], total["expired_share"]) == (5, 0.5, 0.2)
    assert total["median_seconds"] == pytest.approx(150, rel=0.01)
    assert (found["before"]["ended"], found["before"]["median_seconds"]) == (0, None)
    assert found["counted_until"]


@pytest.mark.parametrize(
    ("query", "ended"),
    [
        ("", 5),
        ("days=1", 0),
        ("tool=mail.send", 1),
        ("rule=Large refunds", 5),
        ("rule=-", 0),
        ("agent=00000000-0000-7000-8000-000000000000", 0),
        ("since=2001-01-01&until=2001-02-01", 0),
    ],
)
def test_it_is_narrowed_as_the_page_is(carol: PersonHttp, query: str, ended: int) -> None:
    found = carol.get(f"/insights?{query}").ok()
    assert found["total"]["ended"] == ended
    given = dict(part.split("=") for part in query.split("&") if part)
    assert found["narrowed_to"] == {k: v for k, v in given.items() if k not in ("days", "since", "until")}


def test_what_waits_now_and_what_is_overdue(cast: Cast, carol: PersonHttp) -> None:
    assert (carol.get("/insights").ok()["waiting"], carol.get("/insights").ok()["overdue"]) == (0, 0)
    for late in (-1, 1, None):
        row = waiting(cast.support)
        deadline = None if late is None else datetime.now(UTC) + timedelta(hours=late)
        ReviewRequest.objects.filter(pk=row.pk).update(deadline_at=deadline)
    found = carol.get("/insights?tool=mail.send").ok()
    assert (found["waiting"], found["overdue"]) == (3, 1), "of the whole workspace, whatever is asked for"


def test_the_last_month_is_the_calendar_s(carol: PersonHttp) -> None:
    end = datetime.now(UTC).date().replace(day=1) - timedelta(days=1)
    found = carol.get("/insights?month=last").ok()
    assert (found["since"], found["until"]) == (str(end.replace(day=1)), str(end))


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("days=0", "days"),
        ("days=367", "days"),
        ("days=7.5", "days"),
        ("days=٣", "days"),
        ("days=7&since=2026-01-01", "days"),
        ("month=first", "month"),
        ("month=last&days=7", "month"),
        ("month=last&until=2026-01-01", "month"),
        ("since=2026-13-01", "since"),
        ("since=1999-12-31&until=2000-01-01", "since"),
        (f"since={AT.date() - timedelta(days=400)}", "since"),
        ("since=2020-02-01&until=2020-01-01", "since"),
        ("until=9999-12-31", "until"),
        ("agent=x", "agent"),
        ("team=1", "team"),
        ("tool=", "tool"),
        ("rule=", "rule"),
        ("by=tool", "by"),
    ],
)
def test_what_is_no_question_is_refused(cast: Cast, query: str, path: str) -> None:
    reply: Any = PersonHttp(cast.carol).get(f"/insights?{query}")
    assert (reply.status, reply.json["errors"][0]["path"]) == (422, f"/query/{path}")
