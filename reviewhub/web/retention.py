"""Retention: the rules, what they would take, holds, what a drill found, and erasing what a person's runs hold."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, MemberCaller, Target
from reviewhub.audit.queries import Filters, list_events
from reviewhub.checkpoints.models import Checkpoint, Hold
from reviewhub.core.errors import Conflict, Invalid, NotFound, ReviewHubError
from reviewhub.retention.erase import erase as erase_runs
from reviewhub.retention.forecast import forecast
from reviewhub.retention.hold import hold as hold_run
from reviewhub.retention.pin import pin as pin_it
from reviewhub.retention.queries import failing
from reviewhub.retention.release import release as release_run
from reviewhub.retention.rules import Limits
from reviewhub.retention.set_rule import set_rule
from reviewhub.retention.survey import as_limits, default_limits
from reviewhub.retention.unpin import unpin as unpin_it
from reviewhub.reviews.targets import checkpoint_for
from reviewhub.runs.models import RetentionRule, Run
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in, words
from reviewhub.web.render import may, show
from reviewhub.web.runs import again as run_again
from reviewhub.web.runs import find as find_run
from reviewhub.web.runs import refused_at

MOST_HOLDS = 100
MOST_FAILURES = 20
MOST_RUNS = 200
"""Runs that the page looks at for what would go; the command looks at all."""
LABELS = {
    "keep_last": ("Keep the last", "checkpoints of each branch"),
    "max_age_days": ("Keep for", "days"),
    "thin_days": ("Thin after", "days"),
    "decided_days": ("Keep only what people decided on", "days after the end"),
    "delete_days": ("Delete", "days after the end"),
}


@dataclass(frozen=True)
class Shown:
    """A rule with its limits in words, and as the fields of its form."""

    row: RetentionRule
    words: str
    fields: list[tuple[str, str, str, Any]]


@require_safe
@page(Action.RETENTION_READ)
def retention(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The page. `?look=1` works out what would go just now."""
    return _page(request, caller)


def _page(request: HttpRequest, caller: MemberCaller, *, status: int = 200, **more: Any) -> HttpResponse:
    workspace = caller.workspace_id
    rules = RetentionRule.objects.filter(workspace_id=workspace).select_related("agent")
    holds = Hold.objects.filter(run__workspace_id=workspace).select_related("run__agent")
    drills = list_events(workspace_id=workspace, filters=Filters(kind="run.drill_failed"), limit=10)
    context = {
        "rules": [_shown(row) for row in rules.order_by("agent__name", "run_class")],
        "default": default_limits().words,
        "fields": _fields(Limits()),
        "agents": Agent.objects.filter(workspace_id=workspace).order_by("name"),
        "holds": holds.order_by("-created_at")[:MOST_HOLDS],
        "held": holds.count(),
        "drills": drills.events,
        "failures": failing(workspace)[:MOST_FAILURES],
        "forecast": forecast(workspace, most=MOST_RUNS) if request.GET.get("look") else None,
        "prices": settings.STORAGE_PRICES,
        "may_edit": may(caller, Action.RETENTION_EDIT),
        "may_erase": may(caller, Action.RUN_ERASE),
        "may_hold": may(caller, Action.RUN_HOLD),
        "given": {},
        **more,
    }
    return show(request, caller, "web/retention.html", context, nav="retention", status=status)


def _shown(row: RetentionRule) -> Shown:
    limits = as_limits(row)
    return Shown(row, limits.words, _fields(limits))


def _fields(limits: Limits) -> list[tuple[str, str, str, Any]]:
    return [(name, *said, getattr(limits, name)) for name, said in LABELS.items()]


def _again(request: HttpRequest, caller: MemberCaller, error: ReviewHubError) -> HttpResponse:
    return _page(request, caller, errors=words(error), given=request.POST, status=error.status)


@posted
@page(Action.RETENTION_EDIT, again=_again)
def change(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Makes, changes or removes a rule."""
    given = request.POST
    is_removed = given.get("do") == "remove"
    try:
        set_rule(
            workspace_id=caller.workspace_id,
            agent_id=_agent(given.get("agent", "")),
            run_class=given.get("run_class", "").strip(),
            limits=None if is_removed else _limits(request),
            base=_number(given.get("base", "0"), "base") or 0,
            actor=actor(request, caller),
        )
    except (Conflict, NotFound) as error:
        return _again(request, caller, error)
    done = "is removed" if is_removed else "is in force"
    messages.success(request, f"The rule {done}.")
    return redirect(f"/{caller.member.workspace.slug}/retention")


@posted
@page(Action.RUN_ERASE, again=_again)
def erase(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Erases what the runs of one person hold; the name has to be typed twice."""
    whose = text_in(request, "on_behalf_of")
    if whose != text_in(request, "again"):
        raise Invalid.at("/again", "The two names differ; nothing was erased.")
    try:
        done = erase_runs(
            workspace_id=caller.workspace_id,
            on_behalf_of=whose,
            reason=text_in(request, "reason"),
            actor=actor(request, caller),
        )
    except (Conflict, NotFound) as error:
        return _again(request, caller, error)
    messages.success(request, f"What {done.runs} run{'' if done.runs == 1 else 's'} held is erased.")
    return redirect(f"/{caller.member.workspace.slug}/retention")


def _release_again(
    request: HttpRequest, caller: MemberCaller, run: Run, error: ReviewHubError
) -> HttpResponse:
    """The page on which the form stood: that of the run, or the list of holds."""
    reason = request.POST.get("reason", "")
    if request.POST.get("back") == "retention":
        said = {"errors": words(error), "lifting": run.pk, "lift_reason": reason}
        return _page(request, caller, status=error.status, **said)
    return run_again(request, caller, run, error)


@posted
@page(Action.RUN_HOLD, of=find_run, again=run_again)
def hold(request: HttpRequest, caller: MemberCaller, run: Run) -> HttpResponse:
    """Nothing of the run is removed from now on."""
    try:
        hold_run(run=run, reason=text_in(request, "reason"), actor=actor(request, caller))
    except Conflict as error:
        return run_again(request, caller, run, error)
    messages.success(request, "The run is under hold. Nothing of it is removed until somebody lifts it.")
    return redirect(f"/{caller.member.workspace.slug}/runs/{run.pk}")


@posted
@page(Action.RUN_HOLD, of=find_run, again=_release_again)
def release(request: HttpRequest, caller: MemberCaller, run: Run) -> HttpResponse:
    """The rules are about the run again."""
    try:
        release_run(run=run, reason=text_in(request, "reason"), actor=actor(request, caller))
    except Conflict as error:
        return _release_again(request, caller, run, error)
    messages.success(request, "The hold is lifted. The rules are about the run again.")
    back = "retention" if request.POST.get("back") == "retention" else f"runs/{run.pk}"
    return redirect(f"/{caller.member.workspace.slug}/{back}")


def _checkpoint(caller: MemberCaller, checkpoint_id: uuid.UUID) -> tuple[Checkpoint, Target]:
    return checkpoint_for(caller, checkpoint_id)


def _again_pin(
    request: HttpRequest, caller: MemberCaller, found: Checkpoint, error: ReviewHubError
) -> HttpResponse:
    return refused_at(request, caller, found, error, pin_reason=request.POST.get("reason", ""))


@posted
@page(Action.CHECKPOINT_PIN, of=_checkpoint, again=_again_pin)
def pin(request: HttpRequest, caller: MemberCaller, found: Checkpoint) -> HttpResponse:
    """The checkpoint stays, whatever a rule says."""
    try:
        pin_it(checkpoint=found, reason=text_in(request, "reason"), actor=actor(request, caller))
    except Conflict as error:
        return _again_pin(request, caller, found, error)
    messages.success(request, f"Checkpoint {found.number} is pinned.")
    return _at(caller, found)


@posted
@page(Action.CHECKPOINT_PIN, of=_checkpoint)
def unpin(request: HttpRequest, caller: MemberCaller, found: Checkpoint) -> HttpResponse:
    """The rules are about the checkpoint again."""
    try:
        unpin_it(checkpoint=found, actor=actor(request, caller))
    except Conflict:
        messages.info(request, f"Checkpoint {found.number} was not pinned.")
    else:
        messages.success(request, f"The pin on checkpoint {found.number} is taken off.")
    return _at(caller, found)


def _at(caller: MemberCaller, found: Checkpoint) -> HttpResponse:
    return redirect(f"/{caller.member.workspace.slug}/runs/{found.run_id}?checkpoint={found.pk}")


def _limits(request: HttpRequest) -> Limits:
    return Limits(**{name: _number(request.POST.get(name, ""), name) for name in LABELS})


def _number(text: str, name: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        said = LABELS.get(name, (name, ""))[0]
        raise Invalid.at(f"/{name}", f"“{said}” needs a whole number, or nothing.")
    return int(text)


def _agent(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError as error:
        raise Invalid.at("/agent", "There is no such agent.") from error
