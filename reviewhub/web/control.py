"""What people do with a run as a whole: halt it, resume it, let a quarantined branch of it try again."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from reviewhub.accounts.permissions import Action, MemberCaller, Target
from reviewhub.core.errors import Conflict, IllegalTransition, Invalid, NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.gates.halt import halt as halt_run
from reviewhub.gates.resume import resume as resume_run
from reviewhub.gates.set_limits import set_limits
from reviewhub.hosting.retry import retry as retry_branch
from reviewhub.reviews.targets import run_target
from reviewhub.runs.models import Branch, Run
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in
from reviewhub.web.runs import again, find


def _find_branch(caller: MemberCaller, branch_id: uuid.UUID) -> tuple[Branch, Target]:
    found = Branch.objects.select_related("run__agent").filter(pk=branch_id)
    row = one_or_none(found.filter(workspace_id=caller.workspace_id))
    if row is None:
        raise NotFound
    return row, run_target(row.run)


def _again_of_branch(
    request: HttpRequest, caller: MemberCaller, branch: Branch, error: Invalid
) -> HttpResponse:
    return again(request, caller, find(caller, branch.run_id)[0], error)


def _reason(request: HttpRequest) -> str:
    reason = text_in(request, "reason")
    if not reason:
        raise Invalid("Say why; it goes on the record.")
    return reason


@posted
@page(Action.RUN_HALT, of=find, again=again)
def halt(request: HttpRequest, caller: MemberCaller, row: Run) -> HttpResponse:
    """Halts every open branch."""
    try:
        if halt_run(run_id=row.pk, reason=_reason(request), actor=actor(request, caller)):
            messages.success(request, "The run is halted. Nothing starts until somebody resumes it.")
        else:
            messages.info(request, "The run is halted already.")
    except Conflict as error:
        messages.info(request, error.message)
    return redirect(f"/{caller.member.workspace.slug}/runs/{row.pk}")


@posted
@page(Action.RUN_RESUME, of=find, again=again)
def resume(request: HttpRequest, caller: MemberCaller, row: Run) -> HttpResponse:
    """Lifts the halts."""
    try:
        if resume_run(run_id=row.pk, reason=_reason(request), actor=actor(request, caller)):
            messages.success(request, "The run goes on.")
        else:
            messages.info(request, "The run is not halted.")
    except Conflict as error:
        messages.info(request, error.message)
    return redirect(f"/{caller.member.workspace.slug}/runs/{row.pk}")


@posted
@page(Action.RUN_RESUME, of=_find_branch, again=_again_of_branch)
def retry(request: HttpRequest, caller: MemberCaller, branch: Branch) -> HttpResponse:
    """Lets a quarantined branch try again."""
    try:
        retry_branch(branch_id=branch.pk, reason=_reason(request), actor=actor(request, caller))
    except IllegalTransition:
        messages.info(request, f"{branch.name} is not quarantined any more.")
    else:
        messages.success(request, f"{branch.name} goes on from its last checkpoint.")
    return redirect(f"/{caller.member.workspace.slug}/runs/{branch.run_id}")


@posted
@page(Action.RUN_RESUME, of=find, again=again)
def limits(request: HttpRequest, caller: MemberCaller, row: Run) -> HttpResponse:
    """Sets what the run may spend and how long it may work; empty is no limit."""
    set_limits(
        run_id=row.pk,
        spend_micros=_amount(text_in(request, "spend"), 1_000_000, "what it may spend"),
        seconds=_amount(text_in(request, "minutes"), 60, "how many minutes it may work"),
        reason=_reason(request),
        actor=actor(request, caller),
    )
    messages.success(request, "The limits are set. What was halted for them goes on.")
    return redirect(f"/{caller.member.workspace.slug}/runs/{row.pk}")


def _amount(given: str, unit: int, what: str) -> int:
    try:
        found = float(given.strip() or 0) * unit
    except ValueError as error:
        raise Invalid(f"Say {what} as a number.") from error
    if not 0 <= found < 10**18:
        raise Invalid(f"Say {what} as a number from 0 up.")
    return round(found)
