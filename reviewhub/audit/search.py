"""Searching the words of events within a bounded time, however many there are and however few fit.

On PostgreSQL the index `event_words` answers what is rare. What is frequent is found by reading back from the newest.
What is neither, or on SQLite all that is not new, is read part by part until the time is up; the page then says how far
it looked, and its cursor goes on from there.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from django.db.models import QuerySet

from reviewhub.audit.in_time import all_in_time
from reviewhub.audit.models import Event
from reviewhub.audit.queries import (
    NEWEST_FIRST,
    PAGE,
    Filters,
    Page,
    answering,
    cursor,
    cut,
    filtered,
    not_older,
    older,
    place,
)
from reviewhub.audit.text import Part, holding, sought, ways

FIRST: Final = 5000
MOST: Final = 40_000
"""Events in the first part that is read, and in the largest: each is twice the one before."""
SECONDS: Final = 0.6


def search_events(*, workspace_id: uuid.UUID, filters: Filters, before: str = "", limit: int = PAGE) -> Page:
    """As `list_events`, for filters with a text; a page may end before it is full (`reached`).

    Raises:
        Invalid: `before` is no cursor of this list.
    """
    begun = time.monotonic()
    rows = filtered(Event.objects.filter(workspace_id=workspace_id), replace(filters, text=""), workspace_id)
    rows, asked = answering(rows, filters), sought(workspace_id, filters.text)
    if before:
        rows = older(rows, *place(before))
    found: list[Event] = []
    size = FIRST
    asks_index = True
    while True:
        end = rows.order_by(*NEWEST_FIRST).values_list("at", "id")[size - 1 : size].first()
        part = rows if end is None else not_older(rows, *end)
        found += _fitting(part, asked, limit + 1 - len(found))
        if end is None or len(found) > limit:
            return cut(found, limit)
        rows = older(rows, *end)
        if asks_index:
            asks_index = False
            rest = _by_index(rows, asked, limit + 1 - len(found))
            if rest is not None:
                return cut([*found, *rest], limit)
        if time.monotonic() - begun > SECONDS:
            return Page(events=found, next=cursor(*end), reached=end[0])
        size = min(2 * size, MOST)


def _fitting(rows: QuerySet[Event], asked: Sequence[Part], most: int) -> QuerySet[Event]:
    return _newest(holding(rows, asked), most)


def _newest(rows: QuerySet[Event], most: int) -> QuerySet[Event]:
    return rows.select_related("payload").order_by(*NEWEST_FIRST)[:most]


def _by_index(rows: QuerySet[Event], asked: Sequence[Part], most: int) -> list[Event] | None:
    """The newest that fit; None when no index leads to them, or not soon enough."""
    led = [_newest(way, most) for way in ways(rows, asked)]
    found = all_in_time(led) if led else None
    if found is None:
        return None
    once = {event.pk: event for event in found}
    return sorted(once.values(), key=lambda event: (event.at, event.pk), reverse=True)[:most]
