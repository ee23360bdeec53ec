"""Rules that history suggests, each with a button that puts it into a draft."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Conflict, NotFound, ReviewHubError
from reviewhub.insights.bounds import FEWEST
from reviewhub.insights.suggest import DAYS
from reviewhub.insights.suggest import suggestions as suggested
from reviewhub.insights.take_up import take_up as take_up_rule
from reviewhub.policies.drafts import open_draft
from reviewhub.reviews.looks import suggested_rules
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import words
from reviewhub.web.render import show


@require_safe
@page(Action.POLICY_EDIT)
def suggestions(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """What could run without people, by what they decided."""
    return _page(request, caller)


def _page(request: HttpRequest, caller: MemberCaller, *, status: int = 200, **more: Any) -> HttpResponse:
    context = {
        "found": suggested(caller.workspace_id),
        "flagged": suggested_rules(caller.workspace_id),
        "open_draft": open_draft(caller.workspace_id),
        "days": DAYS,
        "fewest": FEWEST,
        **more,
    }
    return show(request, caller, "web/policy_suggestions.html", context, nav="policy", status=status)


def _again(request: HttpRequest, caller: MemberCaller, error: ReviewHubError) -> HttpResponse:
    return _page(request, caller, errors=words(error), status=error.status)


@posted
@page(Action.POLICY_EDIT, again=_again)
def take_up(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Puts one of them into the draft."""
    try:
        take_up_rule(
            workspace=caller.member.workspace,
            key=request.POST.get("key", ""),
            actor=actor(request, caller),
        )
    except (Conflict, NotFound) as error:
        return _again(request, caller, error)
    messages.success(request, "The rule is in the draft.")
    return redirect(f"/{caller.member.workspace.slug}/policy/draft")
