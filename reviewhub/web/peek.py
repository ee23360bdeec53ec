"""The side panel of the queue: the request under the keyboard's place."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.clock import now
from reviewhub.insights.note_opening import note_opening
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.rows import Row
from reviewhub.web.access import page
from reviewhub.web.evidence import evidence
from reviewhub.web.render import show
from reviewhub.web.review import find

ARGUMENTS = 4


@page(Action.REQUEST_READ, of=find)
def peek(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """One request in short, as a fragment. `?chosen=` says that somebody went there: the first row shows by itself, and
    nobody has to have looked at it."""
    if "chosen" in request.GET:
        note_opening(row, caller)
    shown = evidence(row, caller)
    top = shown.arguments.top(ARGUMENTS)
    more = len(shown.arguments.rows) + shown.arguments.left_out - len(top)
    context = {"row": Row(row, now(), caller), "evidence": shown, "top": top, "more": more}
    return show(request, caller, "web/_peek.html", context)
