"""One version of a run's plan: its steps, what differs from another one, and the way back to it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action, MemberCaller, Target, allowed
from reviewhub.checkpoints.emptied import or_removed
from reviewhub.core.errors import Conflict, Invalid, NotFound, ReviewHubError
from reviewhub.core.idempotency import check_key
from reviewhub.gates.restore_plan import restore_plan
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import of_number, versions_of
from reviewhub.reviews.targets import run_target
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.queries import branches_of
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.verdicts.ask_plan import ask_plan
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in, words
from reviewhub.web.plan_view import base_of, compared, plan, versions
from reviewhub.web.render import show
from reviewhub.web.runs import find


@dataclass(frozen=True)
class Shown:
    """The version of an address, and its run."""

    run: Run
    version: PlanVersion


@dataclass(frozen=True)
class Place:
    """A branch on which the version may be put in force, and what stands there as the reader sees it."""

    branch: Branch
    base: int

    @property
    def value(self) -> str:
        """How the form says it."""
        return f"{self.base}:{self.branch.pk}"


def _find(caller: MemberCaller, run_id: uuid.UUID, version: int) -> tuple[Shown, Target]:
    row, target = find(caller, run_id)
    with or_removed(row.pk):
        return Shown(run=row, version=of_number(row.pk, version)), target


@page(Action.RUN_READ, of=_find)
def version(request: HttpRequest, caller: MemberCaller, shown: Shown) -> HttpResponse:
    """One version. `?with=` compares it with another one, `?cursor=` goes to older versions in the list."""
    try:
        other = _other(request, shown.version)
    except NotFound as missing:
        said = f"This run has no version “{request.GET.get('with', '')[:20]}” of its plan."
        return _answer(request, caller, shown, other=None, status=missing.status, errors=[said])
    return _answer(request, caller, shown, other=other)


def _again(request: HttpRequest, caller: MemberCaller, shown: Shown, error: ReviewHubError) -> HttpResponse:
    said = {"errors": words(error), "reason": request.POST.get("reason", "")}
    return _answer(request, caller, shown, other=_other(request, shown.version), status=error.status, **said)


@posted
@page(Action.PLAN_RESTORE, of=_find, again=_again)
def restore(request: HttpRequest, caller: MemberCaller, shown: Shown) -> HttpResponse:
    """The version becomes the newest one of the branch that the form names; the execution stays where it is."""
    base, _, branch = request.POST.get("on", "").partition(":")
    reason = text_in(request, "reason")
    if not base.isascii() or not base.isdecimal() or len(base) > 9 or not branch:
        raise Invalid("Say on which branch the plan goes back.")
    if not reason:
        raise Invalid("Say why the plan goes back; the agent's team reads it.")
    if request.POST.get("sure") != "1":
        raise Invalid("Confirm that only the plan goes back.")
    body = wire.RestorePlanBody(branch=branch[:100], base=int(base), reason=reason)
    try:
        made = restore_plan(
            run=shown.run,
            version=shown.version,
            body=body,
            key=check_key(request.POST.get("key", "")),
            actor=actor(request, caller),
        )
    except Conflict as error:
        return _again(request, caller, shown, error)
    messages.success(
        request, f"Version {shown.version.number} of the plan is in force again, as version {made.number}."
    )
    return redirect(f"/{caller.member.workspace.slug}/runs/{shown.run.pk}#plan")


@posted
@page(Action.PLAN_RESTORE, of=_find, again=_again)
def ask(request: HttpRequest, caller: MemberCaller, shown: Shown) -> HttpResponse:
    """The agent is asked for another plan than the version, which has to be in force."""
    reason = text_in(request, "reason")
    if not reason:
        raise Invalid("Say what is wrong with the plan; the agent reads it.")
    body = wire.AskPlanBody(branch=shown.version.branch.name, base=shown.version.number, reason=reason)
    try:
        ask_plan(
            run=shown.run,
            body=body,
            key=check_key(request.POST.get("key", "")),
            target=run_target(shown.run),
            actor=actor(request, caller),
        )
    except Conflict as error:
        return _again(request, caller, shown, error)
    messages.success(request, "The agent is told at the end of its step that you want another plan.")
    return redirect(f"/{caller.member.workspace.slug}/runs/{shown.run.pk}#plan")


def _answer(
    request: HttpRequest,
    caller: MemberCaller,
    shown: Shown,
    *,
    other: PlanVersion | None,
    status: int = 200,
    **said: Any,
) -> HttpResponse:
    row = shown.version
    listed = versions_of(row.run_id, cursor=request.GET.get("cursor", ""))
    context = {
        "run": shown.run,
        "plan": plan(row),
        "versions": versions(listed.rows),
        "next": listed.next,
        "other": other,
        "difference": compared(other, row) if other else None,
        "may_restore": allowed(caller, Action.PLAN_RESTORE, run_target(shown.run)),
        "places": _places(row),
        "may_ask": row.branch.state in OPEN_BRANCH and base_of(row.branch) == row.number,
        "key": uuid.uuid4(),
        **said,
    }
    return show(request, caller, "web/plan.html", context, nav="runs", status=status)


def _other(request: HttpRequest, row: PlanVersion) -> PlanVersion | None:
    """The version to compare with: the asked one, else the one that this one was made from."""
    asked = request.GET.get("with", "")
    if not asked:
        return of_number(row.run_id, row.base) if row.base else None
    if not asked.isascii() or not asked.isdecimal() or len(asked) > 9:
        raise NotFound
    return of_number(row.run_id, int(asked))


def _places(row: PlanVersion) -> list[Place]:
    """Open branches where another version is in force, that of this version first."""
    found = [branch for branch in branches_of(row.run_id) if branch.state in OPEN_BRANCH]
    found.sort(key=lambda branch: branch.pk != row.branch_id)
    places = [Place(branch=branch, base=base_of(branch)) for branch in found[:20]]
    return [one for one in places if one.base != row.number]
