"""Runs: the list, and one run with its branches, checkpoints and tool calls."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from reviewhub_agents import wire

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, MemberCaller, Target, allowed, scope_of
from reviewhub.checkpoints import queries as checkpoints
from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.load import CheckpointRemoved, CorruptCheckpoint, load
from reviewhub.checkpoints.models import Checkpoint, Pin
from reviewhub.checkpoints.outline import Span
from reviewhub.checkpoints.typed import kept_misfits
from reviewhub.core.errors import Invalid, NotFound, ReviewHubError
from reviewhub.core.idempotency import check_key
from reviewhub.core.rows import one_or_none
from reviewhub.gates.cancel import cancel as cancel_run
from reviewhub.gates.consequences import of_branch
from reviewhub.gates.fork import fork as fork_checkpoint
from reviewhub.gates.set_aside import setting_aside
from reviewhub.plans.queries import numbers_in_force
from reviewhub.resumptions.queries import failures_of, waits_for_children
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.queries import newest_event, runs_visible
from reviewhub.reviews.targets import checkpoint_for, run_target
from reviewhub.runs.children import children_of
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.queries import Filters, branches_of, listed, open_halts
from reviewhub.runs.states import OPEN_BRANCH, RunState
from reviewhub.toolcalls.models import ToolCall
from reviewhub.web.access import actor, page, posted
from reviewhub.web.called import called
from reviewhub.web.controls import CONTROL, controls, ways
from reviewhub.web.forms import text_in, words
from reviewhub.web.goodput import strip_of_run
from reviewhub.web.plan_view import lane
from reviewhub.web.render import may, show
from reviewhub.web.run_compare import compared
from reviewhub.web.run_lines import OPENED, Asked, Timeline, timeline
from reviewhub.web.run_weight import scales
from reviewhub.web.spent import spent_of
from reviewhub.web.talk import STATE_BYTES, opened

CALLS = 60
CHILDREN = 20
WAITING = 20
GONE = 10


@page(Action.QUEUE_READ)
def runs(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """All runs that the caller may see, the newest first."""
    given = request.GET
    state = given.get("state", "")
    agent = given.get("agent", "")
    seen = runs_visible(scope_of(caller))
    agents = list(Agent.objects.filter(pk__in=seen.order_by().values("agent_id")).order_by("name")[:100])
    chosen = next((one.pk for one in agents if one.name == agent), None)
    filters = Filters(
        state=state if state in RunState.values else "", agent=chosen, text=given.get("q", "")[:200].strip()
    )
    found = listed(seen, filters=filters, cursor=given.get("cursor", ""))
    more = given.copy()
    more["cursor"] = found.next
    context = {
        "runs": found.rows,
        "filters": filters,
        "states": RunState.values,
        "agents": agents,
        "agent": agent,
        "more": more.urlencode() if found.next else "",
        "is_first_page": not given.get("cursor"),
        "is_teamless": caller.is_teamless,
    }
    return show(request, caller, "web/runs.html", context, nav="runs")


def find(caller: MemberCaller, run_id: uuid.UUID) -> tuple[Run, Target]:
    """The run of an address, and what the permission function is asked about."""
    found = Run.objects.select_related("agent__team", "started_by__person", "parent", "hold")
    row = one_or_none(found.filter(pk=run_id, workspace_id=caller.workspace_id))
    if row is None:
        raise NotFound
    return row, run_target(row)


@page(Action.RUN_READ, of=find)
def run(request: HttpRequest, caller: MemberCaller, row: Run) -> HttpResponse:
    """One run. `?checkpoint=` opens a state, `?with=` compares it with another one, `?open=` opens a fold."""
    return show(request, caller, "web/run.html", _whole(request, caller, row), nav="runs")


@page(Action.RUN_READ, of=find)
def live(request: HttpRequest, caller: MemberCaller, row: Run) -> HttpResponse:
    """The parts of the run page that change.

    `?checkpoint=`, `?with=` and `?open=` are those of the page, `?shown=` is the state that it shows; the same one is
    not sent again.
    """
    context = _context(request, caller, row)
    if request.GET.get("shown", "") != context["shown"]:
        context |= {"is_state_new": True, "scales": scales(context["chosen"])}
    return show(request, caller, "web/_live_run.html", context, nav="runs")


def again(request: HttpRequest, caller: MemberCaller, row: Run, error: ReviewHubError) -> HttpResponse:
    """The run page with why one of the forms above it was refused, and that form open with what was typed."""
    context = _whole(request, caller, row)
    context |= {"errors": words(error), "verb": request.path.rpartition("/")[2]}
    context |= {"typed": request.POST.get("reason", "")}
    return show(request, caller, "web/run.html", context, nav="runs", status=error.status)


@posted
@page(Action.RUN_CANCEL, of=find, again=again)
def cancel(request: HttpRequest, caller: MemberCaller, row: Run) -> HttpResponse:
    """Cancels every open branch."""
    reason = text_in(request, "reason")
    if not reason:
        raise Invalid("Say why the run is cancelled; the agent is told.")
    if cancel_run(run_id=row.pk, reason=reason, actor=actor(request, caller)):
        messages.success(request, "The run is cancelled. What waited is closed, the agent is told.")
    else:
        messages.info(request, "The run had ended already.")
    return redirect(f"/{caller.member.workspace.slug}/runs/{row.pk}")


def _find_checkpoint(caller: MemberCaller, checkpoint_id: uuid.UUID) -> tuple[Checkpoint, Target]:
    return checkpoint_for(caller, checkpoint_id)


def _fork_again(
    request: HttpRequest, caller: MemberCaller, found: Checkpoint, error: Invalid
) -> HttpResponse:
    return refused_at(request, caller, found, error, fork_reason=request.POST.get("reason", ""))


def refused_at(
    request: HttpRequest, caller: MemberCaller, found: Checkpoint, error: ReviewHubError, **typed: str
) -> HttpResponse:
    """The run page at this checkpoint, with why a form of it was refused and what was `typed` into it."""
    row, _ = find(caller, found.run_id)
    context = _whole(request, caller, row, chosen=found.pk) | {"errors": words(error)} | typed
    return show(request, caller, "web/run.html", context, nav="runs", status=error.status)


@posted
@page(Action.CHECKPOINT_FORK, of=_find_checkpoint, again=_fork_again)
def fork(request: HttpRequest, caller: MemberCaller, found: Checkpoint) -> HttpResponse:
    """A new branch from a checkpoint; the old one is not touched."""
    back = request.POST.get("plan") == "checkpoint"
    choice = wire.PlanChoice.CHECKPOINT if back else wire.PlanChoice.KEEP
    body = wire.ForkBody(reason=text_in(request, "reason"), plan=choice)
    key = check_key(request.POST.get("key", ""))
    branch, first = fork_checkpoint(checkpoint=found, body=body, key=key, actor=actor(request, caller))
    messages.success(request, f"Branch {branch.name} starts from checkpoint {found.number}.")
    return redirect(f"/{caller.member.workspace.slug}/runs/{found.run_id}?checkpoint={first.pk}")


def _whole(
    request: HttpRequest, caller: MemberCaller, row: Run, *, chosen: uuid.UUID | None = None
) -> dict[str, Any]:
    """What the run page is made of, with what the open state weighs."""
    context = _context(request, caller, row, chosen=chosen)
    return context | {"scales": scales(context["chosen"])}


def _context(
    request: HttpRequest, caller: MemberCaller, row: Run, *, chosen: uuid.UUID | None = None
) -> dict[str, Any]:
    """The parts that change, with the state of the `chosen` checkpoint, else of the one in the address."""
    since = newest_event(caller.workspace_id)
    branches = branches_of(row.pk)
    asked = _asked(request, caller, row, chosen)
    gone = checkpoints.removed_of(row.pk, most=GONE)
    forced = numbers_in_force(branch.pk for branch in branches)
    line = timeline(row, branches, asked, gone, forced)
    state_of = line.chosen
    if state_of is not None:
        state_of.run = row  # It is this one, so nobody needs to read it again.
    calls = list(
        ToolCall.objects.filter(run=row).select_related("branch").order_by("-created_at", "position")[:CALLS]
    )
    target = run_target(row)
    stopped = row.agent.stopped_at is not None
    may_do = {one for one in CONTROL if allowed(caller, one, target)}
    buttons = controls(run_id=row.pk, branches=branches, may=may_do, stopped=stopped)
    is_open = any(branch.state in OPEN_BRANCH for branch in branches)
    return {
        "run": row,
        "asked": asked,
        "shown": _shown(row, line),
        "branches": branches,
        "hold": getattr(row, "hold", None),
        "may_hold": allowed(caller, Action.RUN_HOLD, target),
        "gone": gone,
        "pin": one_or_none(Pin.objects.filter(pk=state_of.pk)) if state_of else None,
        "may_pin": allowed(caller, Action.CHECKPOINT_PIN, target),
        "line": line,
        "saved": Checkpoint.objects.filter(run=row).count(),
        "lane": lane(row.pk, branches, forced),
        "strip": strip_of_run(row),
        "calls": called(calls),
        "calls_cut": len(calls) == CALLS,
        "chosen": state_of,
        **(compared(line) if line.other else _state(state_of)),
        "is_large": state_of is not None and state_of.raw_length > STATE_BYTES,
        "misfits": kept_misfits(state_of) if state_of else [],
        **_waiting(row),
        "is_open": is_open,
        "controls": buttons,
        "buttons": " ".join(
            [f"{one.verb}:{one.path}:{one.why_not}" for one in buttons] + ["limits"] * is_open
        ),
        "halts": open_halts(branches),
        **_children(branches),
        "failures": failures_of(row.pk, most=10),
        "spent": spent_of(row, branches),
        "may_limit": allowed(caller, Action.RUN_RESUME, target),
        "may_audit": may(caller, Action.AUDIT_READ),
        "ways": ways(state_of.branch, may=may_do, stopped=stopped) if state_of else None,
        "after": of_branch(state_of.branch, state_of) if state_of else None,
        "since": since,
        "key": uuid.uuid4(),
    }


def _children(branches: list[Branch]) -> dict[str, Any]:
    """The newest child runs of the branches with how many there are, and whether a branch waits for its own."""
    found = children_of(branches)
    many = found.count() if any(branch.has_children for branch in branches) else 0
    return {
        "children": list(found.reverse()[:CHILDREN]) if many else [],
        "children_count": many,
        "awaits": many > 0 and waits_for_children(branches),
    }


def _asked(request: HttpRequest, caller: MemberCaller, row: Run, chosen: uuid.UUID | None) -> Asked:
    """What the address says of the timeline. Raises NotFound for what is no id."""
    given = request.GET
    branch, _, last = given.get("open", "").partition(":")
    try:
        number = int(last) if last.isascii() and last.isdecimal() and len(last) < 10 else 0
        return Asked(
            page=f"/{caller.member.workspace.slug}/runs/{row.pk}",
            checkpoint=chosen or (uuid.UUID(given["checkpoint"]) if given.get("checkpoint") else None),
            other=uuid.UUID(given["with"]) if given.get("with") else None,
            opened=Span(uuid.UUID(branch), max(1, number - OPENED + 1), number) if number else None,
        )
    except ValueError as error:
        raise NotFound from error


def _shown(row: Run, line: Timeline) -> str:
    """Stands for what the panel beside the timeline shows: the same one is not sent again."""
    if line.chosen is None:
        return f"none:{row.state}"
    return f"{line.chosen.pk}:{line.chosen.branch.state}:{line.other.pk if line.other else ''}"


def _waiting(row: Run) -> dict[str, Any]:
    """The requests of the run that wait for people: the oldest few, and how many there are."""
    found = ReviewRequest.objects.filter(run=row, state="pending")
    oldest = list(found.order_by("number")[: WAITING + 1])
    many = len(oldest) if len(oldest) <= WAITING else found.count()
    return {"pending": oldest[:WAITING], "pending_count": many}


def _state(chosen: Checkpoint | None) -> dict[str, Any]:
    """The state to read; without it when there is none, it is too large for this page, or it cannot be read back."""
    if chosen is None or chosen.raw_length > STATE_BYTES:
        return {}
    try:
        with setting_aside():
            return {"state": opened(load(chosen))}
    except (CorruptCheckpoint, CheckpointRemoved):
        return {}
    except BlobsAway as away:
        return {"state_away": away.message}
