"""Post-review: what ran without waiting and was drawn for a look; one stands open, and a verdict leads to the next."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from reviewhub_agents import canonical

from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action, MemberCaller, Target, allowed, require, scope_of
from reviewhub.accounts.queries import agents_of
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.errors import NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.reviews.follow_up import may_take_over
from reviewhub.reviews.looks import (
    LookFilters,
    follow_ups_of,
    followed,
    look_at,
    looks,
    own_verdicts,
    tally,
)
from reviewhub.reviews.models import FollowUp, PostReview
from reviewhub.reviews.states import PostReviewState
from reviewhub.reviews.targets import post_review_target, run_target
from reviewhub.tools.queries import tools_of
from reviewhub.web.access import page
from reviewhub.web.called import Called, called
from reviewhub.web.render import show

LISTS = (
    ("drawn", "To look at"), ("flagged", "Flagged"), ("mine", "Handed to me"), ("fine", "Fine"), ("skipped", "Skipped"),
)  # fmt: skip
MOST_PEOPLE = 200
MOST = 50  # that get one verdict together: a page of the list


@dataclass(frozen=True)
class Shot:
    """The one that stands open, with all that is known of it."""

    row: PostReview
    call: Called
    reason: str
    checkpoint: Checkpoint | None
    may_fork: bool
    people: list[Member]
    follow_ups: list[FollowUp]
    key: uuid.UUID

    @property
    def is_open(self) -> bool:
        """Whether nobody has looked yet."""
        return bool(self.row.state == PostReviewState.DRAWN)


@require_safe
@page(Action.POST_REVIEW_GRADE)
def post_review(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The list, and the first one of it or the one that `?at=` names. The number of queries does not depend on it."""
    at = request.GET.get("at", "")
    try:
        wanted = uuid.UUID(at) if at else None
    except ValueError:
        raise NotFound from None
    return look_page(request, caller, wanted)


def find(caller: MemberCaller, call_id: uuid.UUID) -> tuple[PostReview, Target]:
    """The later look at one call."""
    row = look_at(scope_of(caller), call_id)
    return row, post_review_target(row)


@require_safe
@page(Action.POST_REVIEW_GRADE, of=find)
def one(request: HttpRequest, caller: MemberCaller, row: PostReview) -> HttpResponse:
    """One of them, where an e-mail leads to; among those of its state."""
    return look_page(request, caller, row.tool_call_id, shown=row.state)


def look_page(
    request: HttpRequest,
    caller: MemberCaller,
    wanted: uuid.UUID | None,
    *,
    shown: str = "",
    errors: list[str] | None = None,
    note: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page with the one that is wanted open, or the first of the list."""
    scope, lists = scope_of(caller), shown or list_in(request)
    filters = filters_of(request, caller, lists)
    cursor = cursor_in(request)
    found = looks(scope, filters=filters, cursor=cursor, limit=MOST)
    calls = [row.tool_call_id for row in found.rows]
    opened = wanted or (calls[0] if calls else None)
    shot = _shot(caller, opened) if opened else None
    place = calls.index(opened) if opened in calls else -1
    base = {"show": lists, "agent": filters.agent, "tool": filters.tool}
    kept, here = (kept_in(one) for one in (base, base | {"cursor": cursor}))
    context = {
        "rows": found.rows,
        "shot": shot,
        "opened": opened,
        "lists": LISTS,
        "list": lists,
        "filters": filters,
        "kept": kept,
        "here": here,
        "cursor": cursor,
        "before": calls[place - 1] if place > 0 else None,
        "after": calls[place + 1] if 0 <= place < len(calls) - 1 else None,
        "more": urlencode({"cursor": found.next}) if found.next else "",
        "is_first_page": not cursor,
        "tally": tally(scope, filters),
        "followed": followed(found.rows),
        "agents": list(agents_of(scope).order_by("name").values_list("name", flat=True)[:200]),
        "tools": list(tools_of(scope).order_by("name").values_list("name", flat=True).distinct()[:200]),
        "last": _last(caller, request.GET.getlist("last")[:MOST]),
        "errors": errors or [],
        "note": note,
        "key": uuid.uuid4(),
    }
    return show(request, caller, "web/post_review.html", context, nav="post-review", status=status)


def list_in(request: HttpRequest) -> str:
    """Which list the address, or the form, asks for."""
    asked = request.POST.get("show") or request.GET.get("show", "")
    return asked if asked in dict(LISTS) else "drawn"


def cursor_in(request: HttpRequest) -> str:
    """Which page of the list the address, or the form, is about; empty for the first."""
    return str((request.POST if "show" in request.POST else request.GET).get("cursor", ""))


def kept_in(query: Mapping[str, str | list[str]]) -> str:
    """What of this goes into an address of the page: all that is not empty."""
    return urlencode({name: value for name, value in query.items() if value}, doseq=True)


def filters_of(request: HttpRequest, caller: MemberCaller, lists: str) -> LookFilters:
    """What the list is narrowed down to."""
    given = request.POST if "show" in request.POST else request.GET
    return LookFilters(
        state=PostReviewState.FLAGGED if lists == "mine" else lists,
        agent=given.get("agent", "")[:120],
        tool=given.get("tool", "")[:200],
        handed_to=caller.member.pk if lists == "mine" else None,
    )


def _shot(caller: MemberCaller, call_id: uuid.UUID) -> Shot:
    row = look_at(scope_of(caller), call_id)
    require(caller, Action.POST_REVIEW_GRADE, post_review_target(row))
    (call,) = called([row.tool_call])
    claims = canonical.reread(row.tool_call.claims)
    named = row.tool_call.checkpoint_id
    point = one_or_none(Checkpoint.objects.filter(pk=named).defer("content")) if named else None
    return Shot(
        row=row,
        call=call,
        reason=str(claims.get("reason", "")) if isinstance(claims, dict) else "",
        checkpoint=point,
        may_fork=point is not None and allowed(caller, Action.CHECKPOINT_REWRITE, run_target(row.run)),
        people=list(may_take_over(row)[:MOST_PEOPLE]),
        follow_ups=follow_ups_of(row) if row.state == PostReviewState.FLAGGED else [],
        key=uuid.uuid4(),
    )


def ids_in(said: list[str]) -> list[uuid.UUID]:
    """The calls that these name, each once; what names none is left out."""
    found = []
    for one in dict.fromkeys(said):
        with contextlib.suppress(ValueError):
            found.append(uuid.UUID(one))
    return found


def _last(caller: MemberCaller, said: list[str]) -> list[PostReview]:
    """The verdicts that the reader gave before this page, as far as they are still theirs to take back."""
    asked = ids_in(said)
    return own_verdicts(scope_of(caller), caller.member.pk, asked) if asked else []
