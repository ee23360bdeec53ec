"""The hidden values of one call, on a page of their own that is made once."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.display import segments
from reviewhub.core.display.arguments import in_words
from reviewhub.core.errors import Invalid
from reviewhub.reviews.errors import RunErased
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.reveal import reveal as reveal_secrets
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in, words
from reviewhub.web.render import show
from reviewhub.web.review import Typed, find, render_review


def _again(request: HttpRequest, caller: MemberCaller, row: ReviewRequest, error: Invalid) -> HttpResponse:
    typed = Typed(reveal_reason=request.POST.get("reason", ""), reveal_errors=words(error))
    return render_review(request, caller, row, typed=typed, status=error.status)


@posted
@page(Action.SECRET_REVEAL, of=find, again=_again)
def reveal(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Shows them to somebody who says why. No cache keeps the page, and no link leads to it."""
    reason = text_in(request, "reason")
    try:
        seen = reveal_secrets(request_id=row.pk, reason=reason, actor=actor(request, caller))
    except RunErased as erased:
        return render_review(request, caller, row, typed=Typed(reveal_errors=words(erased)), status=409)
    values = [
        (segments.split(path.removeprefix("/"), mask=False), segments.split(in_words(value)[0], mask=False))
        for path, value in seen.values.items()
    ]
    context = {"row": row, "seen": seen, "values": values, "reason": reason}
    return show(request, caller, "web/revealed.html", context, nav="queue")
