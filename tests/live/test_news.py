"""What an open queue is told: the cells of every row, and as new only what its filters let through."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs

import pytest

from reviewhub.accounts.permissions import MemberCaller
from reviewhub.core.clock import now
from reviewhub.live import news
from reviewhub.reviews.filters import filters_of
from reviewhub.reviews.models import ReviewRequest, Snooze
from tests.cast import Cast
from tests.web.make import waiting


@pytest.mark.parametrize(
    ("query", "fresh"),
    [
        ("", {4001, 4002}),
        ("since=12", {4001, 4002}),
        ("q=nosuchword", set()),
        ("q=wire", {4002}),
        ("risk=critical", {4002}),
        ("risk=nonsense", {4001, 4002}),
        ("tool=bank.wire&tool=payments.refund_order", {4001, 4002}),
        ("agent=support-triage&mine=1", set()),
        ("team=Support", {4001, 4002}),
        ("team=Finance", set()),
        ("late=1", set()),
    ],
)
def test_new_rows_are_those_that_fit(cast: Cast, query: str, fresh: set[int]) -> None:
    rows = [waiting(cast.support), waiting(cast.support, tool="bank.wire", risk="critical")]
    filters = filters_of(parse_qs(query), caller=MemberCaller(cast.bob))
    told = news.queue_news(MemberCaller(cast.bob), [row.pk for row in rows], filters=filters, since=1)
    listed = told.split('<ol id="fresh-rows"')[1]
    assert {row.number for row in rows if f'<li class="row" id="rq-{row.number}"' in listed} == fresh
    for row in rows:
        assert f'id="rq-{row.number}-eyes" hx-swap-oob="true"' in told


def test_a_decided_row_is_not_new(cast: Cast) -> None:
    row = waiting(cast.support)
    ReviewRequest.objects.filter(pk=row.pk).update(
        state="rejected", decided_at=now(), decided_by_name="Alice"
    )
    filters = filters_of({}, caller=MemberCaller(cast.bob))
    told = news.queue_news(MemberCaller(cast.bob), [row.pk], filters=filters, since=1)
    assert '<li class="row"' not in told


def test_what_the_reader_put_off_is_marked_for_them_only_and_not_new(cast: Cast) -> None:
    row = waiting(cast.support)
    Snooze.objects.create(request=row, member=cast.bob, until=now() + timedelta(hours=1), version=row.version)
    for who, query, is_marked, count in (
        (cast.bob, "", True, 0),
        (cast.bob, "snoozed=1", False, 0),
        (cast.bob, "q=refund", False, 0),
        (cast.alice, "", False, 1),
    ):
        caller = MemberCaller(who)
        filters = filters_of(parse_qs(query), caller=caller)
        told = news.queue_news(caller, [row.pk], filters=filters, since=1)
        assert ("You put it off" in told) == is_marked, (who.person.name, query)
        assert ('<li class="row"' in told) != is_marked, (who.person.name, query)
        assert f'data-pending="{count}"' in told
