"""What an open page is told, as HTML for htmx to swap out of band: read from the tables, hints only say where."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from datetime import timedelta

from django.db.models import Q
from django.template.loader import render_to_string
from django.utils.html import format_html

from reviewhub.accounts.permissions import MemberCaller, scope_of
from reviewhub.audit.models import Event
from reviewhub.core.clock import now
from reviewhub.core.rows import one_or_none
from reviewhub.reviews.filters import Filters, narrowed, snoozed
from reviewhub.reviews.look import lookers
from reviewhub.reviews.models import Look, ReviewRequest, Snooze
from reviewhub.reviews.queries import Span, newest_event, pending_count, visible
from reviewhub.reviews.rows import Row
from reviewhub.reviews.snooze import woken

MOST_ROWS = 200  # more news than that, and reading the list again is cheaper for both sides
OVERLAP = timedelta(minutes=1)  # a transaction may commit after one that took a later id
OVERLAP_EVENTS = 100
AWAY = timedelta(days=1)  # a page that was cut off for longer has missed more than this
ALL = Span()


def missed(caller: MemberCaller, since: int) -> list[uuid.UUID] | None:
    """Requests that something happened to after event `since`, and what the caller had put off and is back.

    None when there are too many to list.
    """
    late = Q(id__gt=since - OVERLAP_EVENTS, at__gt=now() - OVERLAP)
    events = Event.objects.filter(Q(id__gt=since) | late, workspace_id=caller.workspace_id)
    ids = events.exclude(request_id=None).order_by("request_id").values_list("request_id", flat=True)
    found = [one for one in ids.distinct()[: MOST_ROWS + 1] if one is not None]
    found += _back(caller)
    return None if len(found) > MOST_ROWS else found


def _back(caller: MemberCaller) -> list[uuid.UUID]:
    """What the caller had put off until some time today: a page that was open before does not show it."""
    at = now()
    mine = woken(since=at - AWAY, until=at).filter(member=caller.member)
    return list(mine.values_list("request_id", flat=True)[:MOST_ROWS])


def queue_news(
    caller: MemberCaller, changed: Iterable[uuid.UUID], *, filters: Filters, since: int, span: Span = ALL
) -> str:
    """Cells of the rows that changed, rows that are new, the count, and how far this goes.

    New rows are those that the page's filters let through and that belong into the part of the queue it shows. They go
    into a hidden list that the reader empties; a row that stands on the page already is dropped there.
    """
    scope = scope_of(caller)
    told = visible(scope).filter(pk__in=list(changed))
    rows = told.select_related("agent__team", "claimed_by__person").prefetch_related("teams")
    at = now()
    found = list(rows[:MOST_ROWS])
    looks = lookers([row.pk for row in found], but=caller.member)
    # Where those that the reader has put off are left out, one that stands there is on its way out.
    asleep = told.filter(snoozed(caller.member.pk)) if filters.awake_for else told.none()
    away = set(asleep.values_list("pk", flat=True))
    lines = [Row(row, at, caller, looks.get(row.pk, ()), is_put_off=row.pk in away) for row in found]
    fitting = set(narrowed(told, filters).values_list("pk", flat=True))
    context = {
        "lines": lines,
        "fresh": [line for line in lines if line.request.pk in fitting and span.holds(line.request)],
        "workspace": caller.member.workspace,
    }
    return render_to_string("live/queue.html", context) + mark(
        since=since, pending=pending_count(scope, awake_for=caller.member.pk)
    )


def with_marks(changed: Collection[uuid.UUID], *, workspace_id: uuid.UUID) -> set[uuid.UUID]:
    """The members for whom these rows, or the count, are not what they are for everybody of their role and teams: they
    put something off, look at one of the rows, or claimed it.
    """
    asleep = Snooze.objects.filter(member__workspace_id=workspace_id, until__gt=now())
    looking = Look.objects.filter(request_id__in=changed)
    claimed = ReviewRequest.objects.filter(pk__in=changed, claimed_by__isnull=False)
    names = asleep.values_list("member_id").union(
        looking.values_list("member_id"), claimed.values_list("claimed_by_id")
    )
    return {member for (member,) in names}


def queue_reload(caller: MemberCaller) -> str:
    """Tells the page to read its list again."""
    return mark(since=newest_event(caller.workspace_id), pending="", reload=True)


def look_again(path: str, *, since: int) -> str:
    """Tells the page to ask `path` for the parts that changed: at once, or when its last question is answered."""
    return format_html('<div id="live-poke" hx-swap-oob="true" data-path="{}" hidden></div>', path) + mark(
        since=since, pending=""
    )


def mark(*, since: int, pending: str, reload: bool = False) -> str:
    """How far the page is told, to resume from there; `since` 0 (a hint without an event) leaves that as it is."""
    return format_html(
        '<span id="live-since" hx-swap-oob="true" hidden data-since="{}" data-pending="{}"{}></span>',
        since or "",
        pending,
        " data-reload" if reload else "",
    )


def request_of(caller: MemberCaller, number: int) -> ReviewRequest | None:
    """The request that a page shows, if its reader may see it."""
    return one_or_none(visible(scope_of(caller)).filter(number=number))
