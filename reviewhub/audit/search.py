"""Searching the words of events within a bounded time, however many there are and however few fit.

On PostgreSQL the index `event_words` answers what is rare. What is frequent is found by reading back from the newest.
What is neither, or on SQLite all that is not new, is read part by part until the time is up; the page then says how far
it looked, and its cursor goes on from there.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import Final

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet

from reviewhub.audit.models import Event
from reviewhub.audit.queries import (
    LOOK,
    NEWEST_FIRST,
    PAGE,
    Filters,
    Page,
    cursor,
    cut,
    filtered,
    holding,
    not_older,
    older,
    parts,
    place,
)

FIRST: Final = 5000
MOST: Final = 40_000
"""Events in the first part that is read, and in the largest: each is twice the one before."""
SECONDS: Final = 0.6
INDEX_SECONDS: Final = 0.8
_CANCELLED: Final = "57014"
_LOCALLY: Final = "SELECT set_config('statement_timeout', %s, true)"
_INDEXED: Final = 3
"""Characters that a part of the text needs for the index to be of any use."""


def search_events(*, workspace_id: uuid.UUID, filters: Filters, before: str = "", limit: int = PAGE) -> Page:
    """As `list_events`, for filters with a text; a page may end before it is full (`reached`).

    Raises:
        Invalid: `before` is no cursor of this list.
    """
    begun = time.monotonic()
    rows = filtered(Event.objects.filter(workspace_id=workspace_id), replace(filters, text=""))
    rows = rows if filters.kind else rows.exclude(kind=LOOK)
    if before:
        rows = older(rows, *place(before))
    found: list[Event] = []
    size = FIRST
    asks_index = connection.vendor == "postgresql" and any(
        len(part) >= _INDEXED for part in parts(filters.text)
    )
    while True:
        end = rows.order_by(*NEWEST_FIRST).values_list("at", "id")[size - 1 : size].first()
        part = rows if end is None else not_older(rows, *end)
        found += _fitting(part, filters.text, limit + 1 - len(found))
        if end is None or len(found) > limit:
            return cut(found, limit)
        rows = older(rows, *end)
        if asks_index:
            asks_index = False
            rest = in_time(_fitting(rows, filters.text, limit + 1 - len(found)))
            if rest is not None:
                return cut([*found, *rest], limit)
        if time.monotonic() - begun > SECONDS:
            return Page(events=found, next=cursor(*end), reached=end[0])
        size = min(2 * size, MOST)


def _fitting(rows: QuerySet[Event], text: str, most: int) -> QuerySet[Event]:
    return holding(rows, text).select_related("payload").order_by(*NEWEST_FIRST)[:most]


def in_time(rows: QuerySet[Event]) -> list[Event] | None:
    """The events; None when finding them takes too long. Only on PostgreSQL, which can be told to stop."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout')")
            usual = cursor.fetchone()[0]
            cursor.execute(_LOCALLY, [f"{int(INDEX_SECONDS * 1000)}ms"])
            found = list(rows)
            cursor.execute(_LOCALLY, [usual])
            return found
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != _CANCELLED:
            raise
        return None
