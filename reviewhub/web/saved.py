"""Saved views: what a member narrows a page down to, kept under a name. One way for every page that has them.

A page puts `saved(caller, page, request.GET)` into its context and includes `web/_saved.html` beside its filters.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from reviewhub.accounts.models import SavedView
from reviewhub.accounts.permissions import Action, MemberCaller, Target, require, scope_of
from reviewhub.accounts.queries import views_of
from reviewhub.accounts.remove_view import remove_view
from reviewhub.accounts.save_view import READS, save_view
from reviewhub.core import zones
from reviewhub.core.errors import Invalid
from reviewhub.reviews.filters import filters_of
from reviewhub.reviews.queries import counts as counts_of
from reviewhub.web.access import actor, page, posted
from reviewhub.web.audit_filters import DAYS
from reviewhub.web.forms import words

# Page → the parameters of its address that a view keeps; where one is in the list and what is open are no part of it.
KEPT: dict[str, tuple[str, ...]] = {
    SavedView.Page.QUEUE: (
        "q",
        "by",
        "me",
        "mine",
        "snoozed",
        "free",
        "late",
        "state",
        "team",
        "risk",
        "tool",
        "agent",
    ),
    SavedView.Page.AUDIT: (
        "q",
        "kind",
        "actor",
        "who",
        "about",
        "agent",
        "tool",
        "team",
        "run",
        "request",
        *DAYS,
        zones.FIELD,
    ),
}

MOST_BACK = 8000


@dataclass(frozen=True)
class Saved:
    """A member's views of one page, how much each finds (empty where that is not counted), and what the page shows."""

    page: str
    query: str
    views: list[SavedView]
    counts: list[str]

    @property
    def counted(self) -> list[tuple[SavedView, str]]:
        """Each view with how much it finds."""
        return list(zip(self.views, self.counts, strict=True))

    @property
    def on(self) -> SavedView | None:
        """The view that the page shows."""
        return next((one for one in self.views if one.query == self.query), None)

    @property
    def can_save(self) -> bool:
        """Whether what the page shows is narrowed, and no view yet."""
        return bool(self.query) and self.on is None


def saved(caller: MemberCaller, page: str, given: QueryDict) -> Saved:
    """The caller's views of `page` (one of SavedView.Page), seen from an address with these parameters; two queries,
    and one more for the agents and for the teams that a view of the queue names."""
    views = views_of(caller.member, page)
    counts = [""] * len(views) if page != SavedView.Page.QUEUE else _counts(caller, views)
    return Saved(page=page, query=kept(page, dict(given.lists())), views=views, counts=counts)


def _counts(caller: MemberCaller, views: Sequence[SavedView]) -> list[str]:
    filters = [filters_of(parse_qs(view.query), caller=caller) for view in views]
    return counts_of(scope_of(caller), filters)


def kept(page: str, given: Mapping[str, Sequence[str]]) -> str:
    """What a view keeps of these parameters, always written the same way. A zone is of days, if there are some."""
    has_days = any("".join(given.get(day, ())) for day in DAYS)
    names = [name for name in KEPT[page] if name != zones.FIELD or has_days]
    pairs = [(name, value) for name in names for value in sorted({*given.get(name, ())} - {""})]
    return urlencode(pairs)


def way_back(given: Mapping[str, Sequence[str]]) -> str:
    """The end of the queue's address that leads back to what these parameters show, with its `?`; empty for all."""
    where = [(name, given[name][-1]) for name in ("limit", "cursor") if given.get(name, [""])[-1]]
    query = "&".join(filter(None, (kept(SavedView.Page.QUEUE, given), urlencode(where))))
    return f"?{query}" if query else ""


def sent_from(request: HttpRequest) -> str:
    """The way back that a form was sent with: whatever it names, it leads to the queue."""
    return way_back(parse_qs(request.POST.get("back", "")[:MOST_BACK].removeprefix("?")))


def _again(request: HttpRequest, caller: MemberCaller, error: Invalid) -> HttpResponse:
    for sentence in words(error):
        messages.error(request, sentence)
    return _back(caller, request.POST.get("page", ""), _query(request))


@posted
@page(Action.QUEUE_READ, again=_again)
def save(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Keeps what the page shows under the name that was given."""
    name = request.POST.get("page", "")
    if name not in KEPT:
        raise Invalid.at("/page", "That page has no views.")
    which = SavedView.Page(name)
    require(caller, READS[which], Target(workspace_id=caller.workspace_id))
    made = save_view(
        member=caller.member,
        page=which,
        name=request.POST.get("name", ""),
        query=_query(request),
        actor=actor(request, caller),
    )
    messages.success(request, f"Saved as {made.name}.")
    return _back(caller, made.page, made.query)


@require_safe
@page(Action.QUEUE_READ)
def counts(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """How much each view of the queue finds now, for a page that heard of changes."""
    found = saved(caller, SavedView.Page.QUEUE, QueryDict())
    return render(request, "web/_view_counts.html", {"counted": found.counted})


@posted
@page(Action.QUEUE_READ)
def remove(request: HttpRequest, caller: MemberCaller, view_id: uuid.UUID) -> HttpResponse:
    """Removes a view; the page still shows what it showed."""
    gone = remove_view(view_id=view_id, member=caller.member, actor=actor(request, caller))
    messages.success(request, f"Removed the view {gone.name}.")
    return _back(caller, gone.page, gone.query)


def _query(request: HttpRequest) -> str:
    """The parameters that the form was sent with, as a view keeps them."""
    which = request.POST.get("page", "")
    return kept(which, parse_qs(request.POST.get("query", ""))) if which in KEPT else ""


def _back(caller: MemberCaller, which: str, query: str) -> HttpResponse:
    path = which if which in KEPT else SavedView.Page.QUEUE
    return redirect(f"/{caller.member.workspace.slug}/{path}{'?' if query else ''}{query}")
