"""Who has a request open is told to those who see the request, and to nobody else."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from reviewhub.accounts.permissions import MemberCaller
from reviewhub.core.clock import now
from reviewhub.core.keyset import write
from reviewhub.live import news
from reviewhub.live.consumers import QueueSocket, RequestSocket
from reviewhub.live.hub import Hub
from reviewhub.live.looks import LOOK_SECONDS, LOOKED, Looks
from reviewhub.live.wakes import Wakes
from reviewhub.reviews.filters import Filters
from reviewhub.reviews.look import look, look_away, lookers
from reviewhub.reviews.models import Look, ReviewRequest, Snooze
from reviewhub.reviews.queries import Span
from tests.cast import Cast
from tests.web.make import waiting


def socket(row: ReviewRequest, of: type[Any] = RequestSocket) -> Any:
    made = of()
    made.scope = {
        "url_route": {"kwargs": {"slug": "northwind", "number": row.number}},
        "query_string": b"since=7",
    }
    return made


def test_who_may_not_see_a_request_is_not_seen_at_it(cast: Cast) -> None:
    row = waiting(cast.support)
    for stranger in (cast.mallory, cast.dave):
        socket(row).here(MemberCaller(stranger))
    assert not Look.objects.exists()
    socket(row).here(MemberCaller(cast.bob))
    socket(row).here(MemberCaller(cast.bob))
    assert lookers([row.pk], but=cast.carol) == {row.pk: ("Bob",)}
    assert lookers([row.pk], but=cast.bob) == {}
    socket(row).gone(MemberCaller(cast.bob))
    assert not Look.objects.exists()


def test_the_others_are_told_when_somebody_comes_and_goes(cast: Cast) -> None:
    row, at = waiting(cast.support), [0.0]
    looks = Looks(clock=lambda: at[0])

    def told(*, is_followed: bool = True) -> list[UUID | None]:
        at[0] += LOOK_SECONDS
        return [hint.request_id for hint in looks.look(is_followed=is_followed)]

    look(request_id=row.pk, member=cast.bob)
    assert told(is_followed=False) == []
    assert told() == [row.pk]
    assert told() == []
    look(request_id=row.pk, member=cast.carol)
    assert looks.look(is_followed=True) == [], "not more often than the database bears"
    assert told() == [row.pk]
    look_away(request_id=row.pk, member=cast.bob)
    assert told() == [row.pk]
    Look.objects.update(until=now() - timedelta(seconds=1))
    assert told() == [row.pk], "a browser that vanished"
    look(request_id=waiting(cast.support).pk, member=cast.bob)
    assert Look.objects.count() == 1, "what ran out is swept"


def test_a_queue_hears_of_it_and_keeps_how_far_it_was_told(cast: Cast) -> None:
    row = waiting(cast.support)
    look(request_id=row.pk, member=cast.bob)
    hint = SimpleNamespace(kind=LOOKED, request_id=row.pk, event_id=0)
    told = socket(row, QueueSocket).told(MemberCaller(cast.carol), [hint])
    assert "looking" in told
    assert 'data-since=""' in told
    assert "looking" not in socket(row, QueueSocket).told(MemberCaller(cast.bob), [hint])
    assert f"rq-{row.number}" not in socket(row, QueueSocket).told(MemberCaller(cast.dave), [hint])


def test_only_pages_are_reason_to_ask() -> None:
    hub = Hub()
    assert not hub.is_followed()


async def test_an_agent_that_waits_is_none() -> None:
    hub = Hub()
    with hub.subscribe(f"pause:{UUID(int=1)}"):
        assert not hub.is_followed()
    with hub.subscribe(f"workspace:{UUID(int=1)}"):
        assert hub.is_followed()


def test_a_row_beyond_the_page_is_no_new_row(cast: Cast) -> None:
    first, second, undated = (waiting(cast.support, seconds=s) for s in (60, 120, None))

    def after(row: ReviewRequest) -> str:
        return write([row.deadline_at.isoformat() if row.deadline_at else "none", str(row.pk)])

    rows = {"first": first, "second": second, "undated": undated}
    for span, holds in (
        (Span(), "first second undated"),
        (Span(until=after(first)), "first"),
        (Span(after=after(first)), "second undated"),
        (Span(after=after(first), until=after(second)), "second"),
        (Span(after=after(second), until=after(undated)), "undated"),
        (Span(until="nonsense"), "first second undated"),
    ):
        assert " ".join(name for name, row in rows.items() if span.holds(row)) == holds, span
    told = news.queue_news(
        MemberCaller(cast.bob),
        [row.pk for row in rows.values()],
        filters=Filters(),
        since=1,
        span=Span(until=after(first)),
    )
    assert told.count('<li class="row"') == 1
    assert told.count('-eyes" hx-swap-oob') == 3, "cells of every row: it may stand on the page"


def next_moment() -> datetime:
    """A moment after every look so far: SQLite's clock moves on each millisecond only."""
    begun = at = now()
    while at == begun:
        at = now()
    return at


def test_what_was_put_off_is_told_when_its_time_has_come(cast: Cast) -> None:
    row, at = waiting(cast.support), [0.0]
    wakes = Wakes(clock=lambda: at[0])

    def told(*, is_followed: bool = True) -> list[UUID | None]:
        at[0] += LOOK_SECONDS
        return [hint.request_id for hint in wakes.look(is_followed=is_followed)]

    put_off = Snooze.objects.create(request=row, member=cast.bob, version=1, until=now() + timedelta(hours=1))
    assert told() == []
    Snooze.objects.update(until=next_moment())
    assert told() == [row.pk]
    assert told() == []
    bob = MemberCaller(cast.bob)
    assert news.missed(bob, 10**9) == [row.pk], "a page that comes back from being cut off is told, too"
    assert news.missed(MemberCaller(cast.carol), 10**9) == []
    filters = Filters(awake_for=cast.bob.pk)
    assert f'id="rq-{row.number}"' in news.queue_news(bob, [row.pk], filters=filters, since=0)
    assert told(is_followed=False) == []
    for changed in ({"state": "expired", "decided_at": now()}, {"version": 2}):
        assert told() == []
        ReviewRequest.objects.filter(pk=row.pk).update(**{"state": "pending", "decided_at": None} | changed)
        put_off.until = next_moment()
        put_off.save()
        assert told() == [], "decided meanwhile, or another call by now"
