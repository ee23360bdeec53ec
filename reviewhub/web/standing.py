"""Standing approvals: the list with what each covers and how often it was used, and its end."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.permissions import Action, MemberCaller, Target, allowed, scope_of
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid
from reviewhub.standing.models import StandingApproval
from reviewhub.standing.queries import listed, plain, standing_in, target_of
from reviewhub.standing.revoke import revoke as revoke_it
from reviewhub.standing.rules import bounds_text, state_of
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in, words
from reviewhub.web.render import show

STATES = {
    "in_force": ("ok", "in force"),
    "revoked": ("bad", "revoked"),
    "over": ("", "its time is over"),
    "used_up": ("", "used up"),
}


@dataclass(frozen=True)
class Line:
    """One of them as the page shows it. `idle`: why it holds nothing at present though it has not ended."""

    row: StandingApproval
    covers: str
    state: tuple[str, str]
    idle: str
    may_revoke: bool


@require_safe
@page(Action.STANDING_READ)
def standing(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Those in force; `?all=1` also those that ended."""
    return _page(request, caller)


def find(caller: MemberCaller, standing_id: uuid.UUID) -> tuple[StandingApproval, Target]:
    """One of the workspace."""
    row = standing_in(caller.workspace_id, standing_id)
    return row, target_of(row)


def _again(request: HttpRequest, caller: MemberCaller, row: StandingApproval, error: Invalid) -> HttpResponse:
    typed = request.POST.get("reason", "")
    return _page(request, caller, errors=words(error), of=row.pk, typed=typed, status=error.status)


@posted
@page(Action.STANDING_REVOKE, of=find, again=_again)
def revoke(request: HttpRequest, caller: MemberCaller, row: StandingApproval) -> HttpResponse:
    """Ends one at once."""
    revoke_it(standing_id=row.pk, reason=text_in(request, "reason"), actor=actor(request, caller))
    messages.success(request, f"The approval of #{row.request_number} stands no more, from now on.")
    return redirect(f"/{caller.member.workspace.slug}/standing-approvals")


def _page(request: HttpRequest, caller: MemberCaller, *, status: int = 200, **more: Any) -> HttpResponse:
    everything = bool(request.GET.get("all"))
    found = listed(scope_of(caller), only_in_force=not everything, cursor=request.GET.get("cursor", ""))
    at = now()
    context = {
        "lines": [_line(row, caller, at) for row in found.rows],
        "next": found.next,
        "all": everything,
        **more,
    }
    return show(request, caller, "web/standing.html", context, nav="policy", status=status)


def _line(row: StandingApproval, caller: MemberCaller, at: datetime) -> Line:
    one = plain(row)
    state = state_of(one, at=at)
    return Line(
        row=row,
        covers=bounds_text(one),
        state=STATES[state],
        idle=""
        if one.may_decide or state != "in_force"
        else f"{one.owner} may not decide for this team any more.",
        may_revoke=state == "in_force" and allowed(caller, Action.STANDING_REVOKE, target_of(row)),
    )
