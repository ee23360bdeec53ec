"""The list of events: filtered, newest first, page by page without counting."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from reviewhub.audit import kinds
from reviewhub.audit.models import Event

PAGE: int = 50


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What to show; None or "" means everything. `since` is included, `until` is not."""

    actor_id: uuid.UUID | None = None
    actor_kind: str = ""
    agent_id: uuid.UUID | None = None
    subject_id: uuid.UUID | None = None
    run_id: uuid.UUID | None = None
    request_id: uuid.UUID | None = None
    tool: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""


@dataclass(frozen=True)
class Page:
    """Events, the newest first, and where the next page begins (None on the last one)."""

    events: Sequence[Event]
    before: int | None


def list_events(
    *, workspace_id: uuid.UUID, filters: Filters | None = None, before: int | None = None, limit: int = PAGE
) -> Page:
    """One page of a workspace's events with their payloads; two queries at most, whatever the page."""
    rows = filtered(Event.objects.filter(workspace_id=workspace_id), filters or Filters())
    if before is not None:
        rows = rows.filter(id__lt=before)
    found = list(rows.select_related("payload").order_by("-id")[: limit + 1])
    more = len(found) > limit
    return Page(events=found[:limit], before=found[limit - 1].pk if more else None)


def kind_names() -> Iterable[str]:
    """Every kind that the filter may name."""
    return kinds.names()


def filtered(rows: QuerySet[Event], filters: Filters) -> QuerySet[Event]:
    """Events that fit the filters."""
    exact = {
        name: getattr(filters, name)
        for name in (
            "actor_id",
            "actor_kind",
            "agent_id",
            "subject_id",
            "run_id",
            "request_id",
            "tool",
            "kind",
        )
    }
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    if filters.since:
        rows = rows.filter(at__gte=filters.since)
    if filters.until:
        rows = rows.filter(at__lt=filters.until)
    if filters.text:
        # U+0000 is in no stored text, and PostgreSQL does not even take it as a question.
        rows = (
            rows.none() if "\x00" in filters.text else rows.filter(payload__sentence__icontains=filters.text)
        )
    return rows
