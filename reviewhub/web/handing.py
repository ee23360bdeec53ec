"""What a reviewer does with a request instead of deciding it: take a vote back, hand it over, put it off."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.display import moments
from reviewhub.core.errors import Invalid
from reviewhub.reviews.hand_over import hand_over as hand_request_over
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.snooze import SPANS
from reviewhub.reviews.snooze import snooze as snooze_request
from reviewhub.reviews.withdraw_vote import withdraw_vote as take_vote_back
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in, words
from reviewhub.web.review import Handing, Typed, find, render_review
from reviewhub.web.saved import sent_from


@posted
@page(Action.REQUEST_DECIDE, of=find)
def withdraw_vote(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Takes one's own vote back."""
    fresh = take_vote_back(request_id=row.pk, member=caller.member, actor=actor(request, caller))
    messages.success(request, f"Your vote is taken back: {fresh.plain_sentence.rstrip('.')}.")
    return redirect(_here(caller, row))


def _again(request: HttpRequest, caller: MemberCaller, row: ReviewRequest, error: Invalid) -> HttpResponse:
    handing = Handing(
        to=request.POST.get("to", ""), note=request.POST.get("note", ""), errors=tuple(words(error))
    )
    return render_review(request, caller, row, typed=Typed(handing=handing), status=error.status)


@posted
@page(Action.REQUEST_CLAIM, of=find, again=_again)
def hand_over(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Gives the request to a colleague."""
    try:
        to = uuid.UUID(request.POST.get("to", ""))
    except ValueError as error:
        raise Invalid.at("/to", "Choose who gets it.") from error
    fresh = hand_request_over(
        request_id=row.pk,
        member=caller.member,
        to_id=to,
        note=text_in(request, "note"),
        actor=actor(request, caller),
    )
    assert fresh.claimed_by is not None
    said = f"Handed over to {fresh.claimed_by.person.name}: {fresh.plain_sentence.rstrip('.')}."
    messages.success(request, said)
    return redirect(_here(caller, row))


@posted
@page(Action.REQUEST_READ, of=find, again=_again)
def snooze(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Puts the request off in one's own queue, or takes it back into it."""
    given = request.POST.get("minutes", "")
    if given not in {"0", *(str(minutes) for minutes, _ in SPANS)}:
        raise Invalid.at("/minutes", "Choose for how long.")
    kept = snooze_request(
        request_id=row.pk, member=caller.member, minutes=int(given), actor=actor(request, caller)
    )
    if kept is None:
        messages.success(request, f"#{row.number} is in your queue again.")
        return redirect(_here(caller, row))
    messages.success(request, f"#{row.number} is back in your queue at {moments.said(kept.until)}.")
    return redirect(f"/{caller.member.workspace.slug}/queue{sent_from(request)}")


def _here(caller: MemberCaller, row: ReviewRequest) -> str:
    return f"/{caller.member.workspace.slug}/requests/{row.number}"
