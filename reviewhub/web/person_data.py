"""A person's data: what is kept about them, to take along, and erasing who a former member was."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.retention.erase_member import erase_member
from reviewhub.retention.person_data import export_member, export_subject
from reviewhub.web.access import actor, page, posted
from reviewhub.web.audit_proof import download
from reviewhub.web.forms import words
from reviewhub.web.people import find, people_page


@require_safe
@page(Action.QUEUE_READ)
def mine(request: HttpRequest, caller: MemberCaller) -> HttpResponseBase:
    """What this workspace keeps about whoever asks."""
    with transaction.atomic():
        return download(export_member(member=caller.member, actor=actor(request, caller)))


@require_safe
@page(Action.RUN_ERASE, of=find)
def of_member(request: HttpRequest, caller: MemberCaller, member: Member) -> HttpResponseBase:
    """What this workspace keeps about a member."""
    with transaction.atomic():
        return download(export_member(member=member, actor=actor(request, caller)))


@require_safe
@page(Action.RUN_ERASE)
def of_subject(request: HttpRequest, caller: MemberCaller) -> HttpResponseBase:
    """What the runs hold that were started on behalf of somebody."""
    with transaction.atomic():
        bundle = export_subject(
            workspace_id=caller.workspace_id,
            on_behalf_of=request.GET.get("on_behalf_of", ""),
            actor=actor(request, caller),
        )
    return download(bundle)


def _again(request: HttpRequest, caller: MemberCaller, member: Member, error: Invalid) -> HttpResponse:
    return people_page(request, caller, errors=words(error), status=error.status)


@posted
@page(Action.RUN_ERASE, of=find, again=_again)
def erase(request: HttpRequest, caller: MemberCaller, member: Member) -> HttpResponse:
    """Erases who a former member was; their address has to be typed."""
    if request.POST.get("again", "").strip().lower() != member.person.email:
        raise Invalid.at("/again", "This is not their e-mail address; nothing was erased.")
    try:
        count = erase_member(
            member=member, reason=request.POST.get("reason", ""), actor=actor(request, caller)
        )
    except Conflict as error:
        return people_page(request, caller, errors=words(error), status=error.status)
    messages.success(
        request, f"Who they were is erased, and what {count} entr{'y' if count == 1 else 'ies'} said."
    )
    return redirect(f"/{caller.member.workspace.slug}/people")
