"""The draft of a policy: what it changes, what it would do, and what may be done with it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.clock import now
from reviewhub.core.errors import Conflict, IllegalTransition, Invalid, ReviewHubError
from reviewhub.insights.cancel_backtest import cancel_backtest
from reviewhub.insights.queries import report
from reviewhub.insights.start_backtest import start_backtest
from reviewhub.policies.cautions import all_cautions
from reviewhub.policies.discard_draft import discard_draft
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.newly_known import newly_known
from reviewhub.policies.publish_draft import publish_draft
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import Policy
from reviewhub.policies.set_shadow import set_shadow
from reviewhub.toolcalls.shadowed import shadowed
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in
from reviewhub.web.policy import in_words, number_in
from reviewhub.web.policy_faults import refusal
from reviewhub.web.render import show

CHANGES = {
    "held": "Would wait",
    "freed": "Would run",
    "denied": "Would be denied",
    "rerouted": "Would wait for others",
    "failed": "The draft failed",
    "undecided": "A rule could not be decided",
    "rejected": "Would run, and people rejected it",
}


@require_safe
@page(Action.POLICY_EDIT)
def draft(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The draft that is worked on; the policy page when there is none."""
    return _page(request, caller)


def _page(request: HttpRequest, caller: MemberCaller, *, status: int = 200, **more: Any) -> HttpResponse:
    found = open_draft(caller.workspace_id)
    if found is None:
        messages.info(request, "There is no draft.")
        return redirect(f"/{caller.member.workspace.slug}/policy")
    latest = current(caller.workspace_id)
    rules = parse_policy(found.rules)
    before = parse_policy(latest.rules) if latest else Policy()
    context = {
        "draft": found,
        "number": latest.number if latest else 0,
        "changes": in_words(before, rules),
        "cautions": all_cautions(rules, caller.workspace_id),
        "newly_known": newly_known(rules, caller.workspace_id),
        "shadow": shadowed(found),
        "test": report(found),
        "words": CHANGES,
        "note": found.note,
        **more,
    }
    return show(request, caller, "web/policy_draft.html", context, nav="policy", status=status)


def _again(request: HttpRequest, caller: MemberCaller, error: ReviewHubError) -> HttpResponse:
    found = open_draft(caller.workspace_id)
    if found is None:
        raise error
    more = refusal(error, parse_policy(found.rules), "edit?from=draft&check=yes")
    return _page(request, caller, note=request.POST.get("note", ""), status=error.status, **more)


@posted
@page(Action.POLICY_EDIT, again=_again)
def shadow(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Puts the draft in shadow, or takes it out."""
    on = request.POST.get("do") == "start"
    return _done(
        request,
        caller,
        lambda draft_id: set_shadow(
            workspace_id=caller.workspace_id, draft_id=draft_id, on=on, actor=actor(request, caller)
        ),
        "draft",
    )


@posted
@page(Action.POLICY_EDIT, again=_again)
def backtest(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Starts a backtest of the draft."""
    return _done(
        request,
        caller,
        lambda draft_id: start_backtest(
            workspace_id=caller.workspace_id,
            draft_id=draft_id,
            days=number_in(request.POST.get("days", "")),
            actor=actor(request, caller),
        ),
        "draft#backtest",
    )


@require_safe
@page(Action.POLICY_EDIT)
def progress(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The part of the page that shows how far a backtest is; it asks for itself."""
    found = open_draft(caller.workspace_id)
    if found is None:
        return HttpResponse(headers={"HX-Redirect": f"/{caller.member.workspace.slug}/policy"})
    context = {
        "workspace": caller.member.workspace,
        "draft": found,
        "test": report(found),
        "words": CHANGES,
        "now": now(),
    }
    return render(request, "web/_backtest.html", context)


@posted
@page(Action.POLICY_EDIT, again=_again)
def cancel(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Ends a backtest that runs; one that has ended meanwhile stays as it is."""
    try:
        backtest_id = UUID(request.POST.get("backtest", ""))
    except ValueError as error:
        raise Invalid("The form names no backtest.") from error
    with suppress(IllegalTransition):
        cancel_backtest(
            workspace_id=caller.workspace_id, backtest_id=backtest_id, actor=actor(request, caller)
        )
    return redirect(f"/{caller.member.workspace.slug}/policy/draft#backtest")


@posted
@page(Action.POLICY_EDIT, again=_again)
def discard(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Ends the draft."""
    return _done(
        request,
        caller,
        lambda draft_id: discard_draft(
            workspace_id=caller.workspace_id, draft_id=draft_id, actor=actor(request, caller)
        ),
        "",
    )


@posted
@page(Action.POLICY_EDIT, again=_again)
def publish(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Puts the draft in force."""

    def do(draft_id: UUID) -> None:
        made = publish_draft(
            workspace_id=caller.workspace_id,
            draft_id=draft_id,
            note=text_in(request, "note"),
            base=number_in(request.POST.get("base", "0")),
            actor=actor(request, caller),
            on_top=request.POST.get("on_top") == "yes",
        )
        messages.success(request, f"Policy v{made.number} is in force.")

    return _done(request, caller, do, "")


def _done(request: HttpRequest, caller: MemberCaller, do: Any, to: str) -> HttpResponse:
    """Does it with the draft that the form names, and goes to a page below the policy's."""
    try:
        draft_id = UUID(request.POST.get("draft", ""))
    except ValueError as error:
        raise Invalid("The form names no draft.") from error
    try:
        do(draft_id)
    except Conflict as error:
        return _again(request, caller, error)
    return redirect(f"/{caller.member.workspace.slug}/policy/{to}".rstrip("/"))
