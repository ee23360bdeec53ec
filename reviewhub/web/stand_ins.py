"""Who votes in whose place, and one's own: from when until when."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.delegate import delegate
from reviewhub.accounts.lent import DECIDING_ROLES, delegations_of, lent_to
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.accounts.take_back import take_back
from reviewhub.core import zones
from reviewhub.core.display import moments
from reviewhub.core.errors import Invalid
from reviewhub.core.rows import one_or_none
from reviewhub.web import times
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import words
from reviewhub.web.render import show

SHOWN = 100


@require_safe
@page(Action.VOTES_LEND)
def stand_ins(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """One's own stand-ins, and for whom one stands in."""
    return _page(request, caller)


def _page(
    request: HttpRequest, caller: MemberCaller, *, errors: list[str] | None = None, status: int = 200
) -> HttpResponse:
    member = caller.member
    others = Member.objects.filter(
        workspace_id=caller.workspace_id, is_active=True, person__is_active=True, role__in=DECIDING_ROLES
    ).exclude(pk=member.pk)
    context: dict[str, Any] = {
        "rows": delegations_of(member)[:SHOWN],
        "others": others.select_related("person").order_by("person__name", "pk"),
        "lent": lent_to(member),
        "errors": errors or [],
        "given": request.POST,
        "zone": zones.name_of(zones.of_form(request.POST)),
    }
    return show(request, caller, "web/stand_ins.html", context, nav="stand-ins", status=status)


def _again(request: HttpRequest, caller: MemberCaller, error: Invalid) -> HttpResponse:
    return _page(request, caller, errors=words(error), status=error.status)


@posted
@page(Action.VOTES_LEND, again=_again)
def lend(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Lets somebody vote in one's place."""
    given = request.POST
    chosen = _id(given.get("to", ""))
    to = one_or_none(Member.objects.filter(workspace_id=caller.workspace_id, pk=chosen)) if chosen else None
    if to is None:
        raise Invalid.at("/to", "Choose who votes in your place.")
    starts, ends = times.read(given, "starts_at"), times.read(given, "ends_at")
    made = delegate(
        member=caller.member, to=to, starts_at=starts.at, ends_at=ends.at, actor=actor(request, caller)
    )
    when = f"from {moments.said(made.starts_at)}, until {moments.said(made.ends_at)}"
    messages.success(request, f"{made.to.person.name} votes in your place {when}.")
    for note in dict.fromkeys(filter(None, (starts.note, ends.note))):
        messages.info(request, note)
    return redirect(f"/{caller.member.workspace.slug}/stand-ins")


@posted
@page(Action.VOTES_LEND, again=_again)
def end(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Takes one's votes back."""
    row = _id(request.POST.get("delegation", ""))
    if row is None:
        raise Invalid.at("/delegation", "Say which one ends.")
    take_back(delegation_id=row, member=caller.member, actor=actor(request, caller))
    messages.success(request, "Your votes are your own again.")
    return redirect(f"/{caller.member.workspace.slug}/stand-ins")


def _id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
