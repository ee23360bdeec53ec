"""The audit log: read only, newest first, with filters; and everything about one run or one person as a story."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.http import HttpRequest, HttpResponse, QueryDict

from reviewhub.accounts.models import Member, SavedView
from reviewhub.accounts.permissions import Action, MemberCaller, Target
from reviewhub.audit.lag import lag
from reviewhub.audit.looked import looked
from reviewhub.audit.models import Event, SealKey
from reviewhub.audit.proof import proof_of
from reviewhub.audit.queries import Filters, list_events, place, story
from reviewhub.audit.search import search_events
from reviewhub.core import zones
from reviewhub.core.display import durations
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.web.access import actor, page
from reviewhub.web.audit_entry import Line
from reviewhub.web.audit_filters import choices, filters_of, words_of
from reviewhub.web.render import show
from reviewhub.web.saved import saved

CHAPTER: Final = 200
MOST_KEYS: Final = 50
PAUSE: Final = timedelta(minutes=1)
"""A story says how long nothing happened, from so long on."""


@page(Action.AUDIT_READ)
def audit(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """One page of events; `?event=` opens one of them."""
    given = request.GET
    before = given.get("before", "")
    filters = filters_of(given, caller.workspace_id)
    opened = _opened(given.get("event", ""), caller)
    words = words_of(given)
    listed = search_events if filters.text else list_events
    found = listed(workspace_id=caller.workspace_id, filters=filters, before=_cursor(before))
    # Behind the reading, so that nobody's first entry is their own look.
    looked(
        workspace_id=caller.workspace_id,
        actor=actor(request, caller),
        what=f"entry {opened.event.pk}"
        if opened
        else f"what fits “{words}”"
        if words
        else "the newest entries",
    )
    more = given.copy()
    more["before"] = found.next
    context = {
        "lines": [Line(event) for event in found.events],
        "given": given,
        "zone": zones.name_of(zones.of_form(given)),
        "choices": choices(caller),
        "saved": saved(caller, SavedView.Page.AUDIT, given),
        "more": more.urlencode() if found.next else "",
        "reached": found.reached,
        "is_first_page": not before,
        "narrows": bool(words),
        "narrows_more": sum(
            1 for name in ("actor", "agent", "tool", "team", "run", "request") if given.get(name)
        ),
        "opened": opened,
        "request_row": _request(opened),
        "export_id": uuid.uuid4(),
        "lag": lag(caller.workspace_id),
        "seal_keys": list(SealKey.objects.order_by("-number")[:MOST_KEYS]),
        "proof": proof_of(opened.event) if opened else None,
        "query": _without(given, "event"),
    }
    return show(request, caller, "web/audit.html", context, nav="audit")


@dataclass(frozen=True, kw_only=True)
class Told:
    """One entry of a story, and how long nothing happened before it ("" when hardly)."""

    line: Line
    after: str


def _run(caller: MemberCaller, run_id: uuid.UUID) -> tuple[Run, Target]:
    row = one_or_none(
        Run.objects.select_related("agent__team").filter(workspace_id=caller.workspace_id, pk=run_id)
    )
    if row is None:
        raise NotFound
    return row, Target(workspace_id=caller.workspace_id)


def _member(caller: MemberCaller, member_id: uuid.UUID) -> tuple[Member, Target]:
    rows = Member.objects.select_related("person").prefetch_related("teams")
    row = one_or_none(rows.filter(workspace_id=caller.workspace_id, pk=member_id))
    if row is None:
        raise NotFound
    return row, Target(workspace_id=caller.workspace_id)


@page(Action.AUDIT_READ, of=_run)
def run_story(request: HttpRequest, caller: MemberCaller, run: Run) -> HttpResponse:
    """Everything on record about one run, from its beginning."""
    what = f"the story of the run {run.pk}"
    return _story(request, caller, Filters(run_id=run.pk), what, {"run": run, "find": f"run={run.pk}"})


@page(Action.AUDIT_READ, of=_member)
def person_story(request: HttpRequest, caller: MemberCaller, someone: Member) -> HttpResponse:
    """Everything that somebody did, and that was done to them, from their beginning."""
    what = f"the story of {someone.person.name}"
    more = {"someone": someone, "find": f"about={someone.pk}"}
    return _story(request, caller, Filters(about_id=someone.pk), what, more)


def _story(
    request: HttpRequest, caller: MemberCaller, filters: Filters, what: str, more: dict[str, object]
) -> HttpResponse:
    looked(workspace_id=caller.workspace_id, actor=actor(request, caller), what=what)
    found = story(
        workspace_id=caller.workspace_id,
        filters=filters,
        after=_cursor(request.GET.get("after", "")),
        limit=CHAPTER,
    )
    context = {
        "told": _told(found.events),
        "next": found.next,
        "is_first_page": not request.GET.get("after"),
        **more,
    }
    return show(request, caller, "web/audit_story.html", context, nav="audit")


def _told(events: Sequence[Event]) -> list[Told]:
    told: list[Told] = []
    for event in events:
        gap = event.at - told[-1].line.event.at if told else timedelta(0)
        told.append(
            Told(line=Line(event), after=durations.length(gap.total_seconds()) if gap >= PAUSE else "")
        )
    return told


def _cursor(text: str) -> str:
    """A cursor of the list; what is none begins anew, as with an address that somebody kept from before."""
    try:
        place(text)
    except Invalid:
        return ""
    return text


def _opened(text: str, caller: MemberCaller) -> Line | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise NotFound
    rows = Event.objects.select_related("payload").filter(pk=int(text), workspace_id=caller.workspace_id)
    found = one_or_none(rows)
    if found is None:
        raise NotFound
    return Line(found)


def _request(opened: Line | None) -> ReviewRequest | None:
    """The request that an event is about."""
    if opened is None or opened.event.request_id is None:
        return None
    return one_or_none(ReviewRequest.objects.filter(pk=opened.event.request_id))


def _without(given: QueryDict, name: str) -> str:
    rest = given.copy()
    rest.pop(name, None)
    return rest.urlencode()
