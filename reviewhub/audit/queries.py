"""The list of events: filtered, newest first, page by page without counting."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime

from django.db.models import Q, QuerySet

from reviewhub.audit import kinds
from reviewhub.audit.models import Event
from reviewhub.audit.text import holding, sought
from reviewhub.core import keyset

PAGE: int = 50
NEWEST_FIRST = ("-at", "-id")
OLDEST_FIRST = ("at", "id")
LOOK = "audit.read"
ACTORS = ("person", "agent", "policy", "timeout", "system")
NOBODY = uuid.UUID(int=0)
"""What a filter asks for that names nothing: it finds nothing, where asking for everything would mislead."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What to show; None, "" or () means everything. `since` is included, `until` is not.

    `agent_ids` are those of a team; with them stand the events about the team itself, `team_id`. `about_id` finds what
    somebody did and what was done to them. Each part of `text` (see `text.parts`) is looked for in the sentence and in
    what the call is found by, its arguments in all versions among it.
    """

    actor_id: uuid.UUID | None = None
    actor_kind: str = ""
    about_id: uuid.UUID | None = None
    agent_id: uuid.UUID | None = None
    agent_ids: tuple[uuid.UUID, ...] = ()
    team_id: uuid.UUID | None = None
    subject_id: uuid.UUID | None = None
    run_id: uuid.UUID | None = None
    request_id: uuid.UUID | None = None
    tool: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""

    @property
    def narrows(self) -> bool:
        """Whether anything is left out."""
        return any(getattr(self, one.name) for one in fields(self))


@dataclass(frozen=True)
class Page:
    """Events, the newest first, and the cursor of the next page ("" on the last one).

    `reached` is set when a search has not looked at everything yet: at what was recorded until then, back from the
    newest. The cursor goes on from there.
    """

    events: Sequence[Event]
    next: str
    reached: datetime | None = None


def list_events(
    *, workspace_id: uuid.UUID, filters: Filters | None = None, before: str = "", limit: int = PAGE
) -> Page:
    """One page of a workspace's events with their payloads; as many queries, whatever the page.

    Args:
        before: the `next` of the page before; "" for the first one.

    Raises:
        Invalid: `before` is no cursor of this list.
    """
    rows = Event.objects.filter(workspace_id=workspace_id)
    if before:
        rows = older(rows, *place(before))
    found: list[Event] = []
    for one in _each_way(filters or Filters()):
        found += (
            filtered(rows, one, workspace_id).select_related("payload").order_by(*NEWEST_FIRST)[: limit + 1]
        )
    once = {event.pk: event for event in found}
    return cut(
        sorted(once.values(), key=lambda event: (event.at, event.pk), reverse=True)[: limit + 1], limit
    )


def _each_way(filters: Filters) -> list[Filters]:
    """The filters, one for each index that leads to some of what fits."""
    if filters.about_id is None:
        return [filters]
    rest, someone = replace(filters, about_id=None), filters.about_id
    ways = []
    if rest.actor_id in (None, someone):
        ways.append(replace(rest, actor_id=someone))
    if rest.subject_id in (None, someone):
        ways.append(replace(rest, subject_id=someone))
    return ways


def cut(found: Sequence[Event], limit: int) -> Page:
    """A page of the first `limit`, of which one more was read to see whether there are more."""
    more = len(found) > limit
    return Page(events=found[:limit], next=cursor(found[limit - 1].at, found[limit - 1].pk) if more else "")


def cursor(at: datetime, event_id: int) -> str:
    """What a page goes on from."""
    return keyset.write([at.isoformat(), event_id])


def place(text: str) -> tuple[datetime, int]:
    """Time and id that a cursor holds. Raises Invalid when it is none of this list."""
    at, event_id = keyset.read(text, length=2)
    try:
        moment = datetime.fromisoformat(at)
    except (ValueError, TypeError) as error:
        raise keyset.bad_cursor() from error
    if moment.tzinfo is None or type(event_id) is not int or not 0 <= event_id < 2**63:
        raise keyset.bad_cursor()
    return moment, event_id


def older(rows: QuerySet[Event], at: datetime, event_id: int) -> QuerySet[Event]:
    """Those before an event; the first condition is implied, and lets the index begin there."""
    return rows.filter(Q(at__lte=at) & (Q(at__lt=at) | Q(id__lt=event_id)))


def not_older(rows: QuerySet[Event], at: datetime, event_id: int) -> QuerySet[Event]:
    """An event and those after it."""
    return rows.filter(Q(at__gte=at) & (Q(at__gt=at) | Q(id__gte=event_id)))


def newer(rows: QuerySet[Event], at: datetime, event_id: int) -> QuerySet[Event]:
    """Those after an event."""
    return rows.filter(Q(at__gte=at) & (Q(at__gt=at) | Q(id__gt=event_id)))


def story(*, workspace_id: uuid.UUID, filters: Filters, after: str = "", limit: int = PAGE) -> Page:
    """What happened, the oldest first: a page of at most `limit`; `after` is the `next` of the page before.

    Raises:
        Invalid: `after` is no cursor of this list.
    """
    rows = Event.objects.filter(workspace_id=workspace_id)
    if after:
        rows = newer(rows, *place(after))
    found: list[Event] = []
    for one in _each_way(filters):
        found += (
            filtered(rows, one, workspace_id).select_related("payload").order_by(*OLDEST_FIRST)[: limit + 1]
        )
    once = {event.pk: event for event in found}
    return cut(sorted(once.values(), key=lambda event: (event.at, event.pk))[: limit + 1], limit)


def kind_names() -> Iterable[str]:
    """Every kind that the filter may name."""
    return kinds.names()


def filtered(rows: QuerySet[Event], filters: Filters, workspace_id: uuid.UUID) -> QuerySet[Event]:
    """Events of a workspace that fit the filters."""
    exact = ("actor_id", "actor_kind", "agent_id", "subject_id", "run_id", "request_id", "tool", "kind")
    for name in exact:
        if value := getattr(filters, name):
            rows = rows.filter(**{name: value})
    if filters.team_id:
        rows = _of_team(rows, filters)
    if filters.about_id:
        rows = rows.filter(Q(actor_id=filters.about_id) | Q(subject_id=filters.about_id))
    if filters.since:
        rows = rows.filter(at__gte=filters.since)
    if filters.until:
        rows = rows.filter(at__lt=filters.until)
    if not filters.text:
        return rows
    return holding(answering(rows, filters), sought(workspace_id, filters.text))


def answering(rows: QuerySet[Event], filters: Filters) -> QuerySet[Event]:
    """What may answer a search: whoever searched for the same words said them, which is none unless asked for."""
    return rows if filters.kind else rows.exclude(kind=LOOK)


def _of_team(rows: QuerySet[Event], filters: Filters) -> QuerySet[Event]:
    """Those of a team's agents, and those about the team; of one agent all or only the latter."""
    if filters.agent_id is None:
        return rows.filter(Q(agent_id__in=filters.agent_ids) | Q(subject_id=filters.team_id))
    return rows if filters.agent_id in filters.agent_ids else rows.filter(subject_id=filters.team_id)
