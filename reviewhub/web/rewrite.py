"""Going on from a checkpoint with a changed state: a form, a look at what it means, and the deed. Without JavaScript.

Nothing is kept between the steps but in the form itself: the changes so far travel as a list, which the server applies
to the checkpoint (that never changes) each time. So what nobody touched never went through a browser.

There are three ways on, with one form. A rewrite supersedes the branch, which has to be open. A fork leaves it as it
is, and begins at any checkpoint, also of a branch that is over. With `look`, a call that was flagged afterwards, the
fork is a corrective branch.
"""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from reviewhub_agents import canonical, wire
from reviewhub_agents.canonical import BadJson, Tree

from reviewhub.accounts.permissions import Action, MemberCaller, require
from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.difference import between
from reviewhub.checkpoints.fork import beginning
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.errors import Conflict, Invalid, NotFound, ReviewHubError, TooLarge
from reviewhub.core.idempotency import check_key
from reviewhub.core.limits import limits
from reviewhub.gates.consequences import Consequences, consequences, of_branch
from reviewhub.gates.fork import fork as fork_run
from reviewhub.gates.look_back import follow_back
from reviewhub.gates.rewrite import rewrite as rewrite_run
from reviewhub.web.access import actor, page
from reviewhub.web.checkpoints import about, find, number_in, read_state, touched
from reviewhub.web.differing import MOST, MOST_BYTES, listed
from reviewhub.web.forms import text_in, words
from reviewhub.web.looks import find as find_look
from reviewhub.web.plan_view import base_of
from reviewhub.web.render import show
from reviewhub.web.rewrite_changes import (
    MOST_RAW,
    after,
    faults,
    is_raw,
    pending,
    raw,
    rewrite_body,
    shown,
    taken,
    typed,
    without,
)
from reviewhub.web.rewrite_draft import Draft
from reviewhub.web.state_fields import first_field
from reviewhub.web.state_view import schema_of

MOST_REASON: Final = 2000
"""Characters of a note that an address hands over."""
_SAID_IN_THE_FORM: Final = (Invalid, TooLarge, BlobsAway, CorruptCheckpoint)
"""What keeps a person from going on and leaves them what they have put together."""


def _again(
    request: HttpRequest, caller: MemberCaller, row: Checkpoint, error: Invalid, *, is_fork: bool
) -> HttpResponse:
    given = request.POST
    kept: list[Tree] = []
    with contextlib.suppress(Invalid):
        kept = pending(given.get("changes", ""))
    draft = Draft(
        is_fork=is_fork,
        changes=kept,
        reason=given.get("reason", ""),
        branch=given.get("branch", ""),
        look="" if is_fork else _looked_at(caller, row, given),
        errors=tuple(words(error)),
        typed=typed(given),
        is_raw=is_raw(given),
        raw=given.get("raw", ""),
    )
    return _form(request, caller, row, draft, status=error.status)


@page(Action.CHECKPOINT_REWRITE, of=find, again=partial(_again, is_fork=False), is_form=True)
def rewrite(request: HttpRequest, caller: MemberCaller, row: Checkpoint) -> HttpResponse:
    """The form by GET (`?path=` opens a place of the state); by POST one of its steps, `do` says which."""
    given = request.POST if request.method == "POST" else request.GET
    return _begin(request, caller, row, Draft(look=_looked_at(caller, row, given)))


@page(Action.CHECKPOINT_FORK, of=find, again=partial(_again, is_fork=True), is_form=True)
def fork(request: HttpRequest, caller: MemberCaller, row: Checkpoint) -> HttpResponse:
    """The same for a fork with a changed state."""
    return _begin(request, caller, row, Draft(is_fork=True))


def _begin(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    if request.method == "POST":
        return _step(request, caller, row, draft)
    given = request.GET
    draft = replace(
        draft,
        path=given.get("path", ""),
        start=number_in(given.get("from", "0"), "/from"),
        reason=given.get("reason", "")[:MOST_REASON] if draft.look else "",
        is_raw=is_raw(given),
    )
    return _form(request, caller, row, draft)


def _step(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    given = request.POST
    draft = replace(
        draft,
        changes=pending(given.get("changes", "")),
        reason=text_in(request, "reason"),
        branch=text_in(request, "branch"),
        plan=given.get("plan", "") or wire.PlanChoice.KEEP.value,
        path=given.get("path", ""),
        start=number_in(given.get("from", "0"), "/from"),
        is_raw=is_raw(given),
    )
    if given.get("do") == "confirm":
        return _do(request, caller, row, draft)
    if "drop" in given:
        at = number_in(given["drop"], "/drop")
        return _form(request, caller, row, replace(draft, changes=without(draft.changes, at)))
    if not given.get("back"):
        try:
            draft = taken(given, row, draft)
        except _SAID_IN_THE_FORM as problem:
            return _form(request, caller, row, draft.refused(*words(problem)), problem.status)
    if draft.errors:
        return _form(request, caller, row, draft, status=422)
    if "open" in given:
        place, _, first = given["open"].rpartition("@")
        return _form(request, caller, row, replace(draft, path=place, start=number_in(first, "/open")))
    if given.get("do") == "preview":
        return _preview(request, caller, row, draft)
    if given.get("do") in ("fields", "raw"):
        draft = replace(draft, is_raw=given["do"] == "raw")
    return _form(request, caller, row, draft)


def _preview(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    """What it means, and the last question."""
    if not draft.reason:
        return _form(request, caller, row, replace(draft, lacks_reason=True), 422)
    return _asked(request, caller, row, draft)


def _asked(
    request: HttpRequest,
    caller: MemberCaller,
    row: Checkpoint,
    draft: Draft,
    conflict: Conflict | None = None,
) -> HttpResponse:
    try:
        found, before = _meant(row, draft), read_state(row)
        first = beginning(checkpoint=row, changes=draft.changes, reason=draft.reason)
    except Conflict as over:
        return _over(request, caller, row, draft, over)
    except _SAID_IN_THE_FORM as problem:
        return _form(request, caller, row, draft.refused(*words(problem)), problem.status)
    changes = between(before, first.placed.state, most=MOST, most_bytes=MOST_BYTES)
    context = about(caller, row) | {
        "draft": draft,
        "changes": listed(changes, schema=schema_of(row)),
        "more": changes.more,
        "most": MOST,
        "touched": touched(found),
        "seen": found.seen,
        "plan_version": _plan_version(row),
        "plan_now": base_of(row.branch),
        "conflict": conflict,
        "conflict_at": _when(conflict),
    }
    status = conflict.status if conflict else 200
    return show(request, caller, "web/rewrite_confirm.html", context, nav="runs", status=status)


def _do(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    """Does what was confirmed; a key that comes twice does it once."""
    do = _correct if draft.look else _fork if draft.is_fork else _rewrite
    try:
        return do(request, caller, row, draft)
    except BadJson as problem:
        return _form(request, caller, row, draft.refused(*faults(problem)), 422)
    except Conflict as conflict:
        if not draft.keeps_branch:
            return _asked(request, caller, row, draft, conflict)
        return _form(request, caller, row, draft.refused(*words(conflict)), conflict.status)
    except _SAID_IN_THE_FORM as problem:
        return _form(request, caller, row, draft.refused(*words(problem)), problem.status)


def _rewrite(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    body = rewrite_body(draft, seen=request.POST.get("seen", ""))
    made = rewrite_run(
        checkpoint=row,
        changes=body.changes,
        reason=body.reason,
        actor=actor(request, caller),
        seen=body.seen or "",
        plan=body.plan,
    )
    ended = made.closed.requests + made.closed.grants
    said = f"{made.old.branch.name} is superseded by {made.branch.name}, which goes on from here."
    if ended:
        said += (
            f" {ended} request{'s' if ended > 1 else ''} or approval{'s' if ended > 1 else ''} ended with it."
        )
    messages.success(request, said)
    return redirect(f"/{caller.member.workspace.slug}/checkpoints/{made.first.pk}")


def _fork(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    tree: dict[str, Tree] = {"reason": draft.reason, "changes": draft.changes, "plan": draft.plan}
    if draft.branch:
        tree["branch"] = draft.branch
    branch, first = fork_run(
        checkpoint=row,
        body=wire.ForkBody.from_tree(tree, limits=limits()),
        key=check_key(request.POST.get("key", "")),
        actor=actor(request, caller),
    )
    messages.success(request, f"{branch.name} goes on from here; {row.branch.name} stays as it is.")
    return redirect(f"/{caller.member.workspace.slug}/checkpoints/{first.pk}")


def _correct(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    """Makes the corrective branch, as what follows the flag."""
    tree: dict[str, Tree] = {
        "kind": wire.FollowUpKind.FORK.value,
        "note": draft.reason,
        "changes": draft.changes,
    }
    follow_back(
        call_id=uuid.UUID(draft.look),
        body=wire.FollowUpBody.from_tree(tree, limits=limits()),
        body_digest=canonical.body_digest(tree),
        key=request.POST.get("key", ""),
        actor=actor(request, caller),
    )
    messages.success(request, "The corrective branch goes on from the checkpoint of the call.")
    return redirect(f"/{caller.member.workspace.slug}/post-review/{draft.look}")


def _looked_at(caller: MemberCaller, row: Checkpoint, given: QueryDict) -> str:
    """The flagged call that the address names, if any. Raises NotFound for one of another checkpoint."""
    named = str(given.get("look", ""))
    if not named:
        return ""
    try:
        seen, target = find_look(caller, uuid.UUID(named))
    except ValueError as error:
        raise NotFound from error
    require(caller, Action.POST_REVIEW_GRADE, target)
    if seen.tool_call.checkpoint_id != row.pk:
        raise NotFound
    return str(seen.tool_call_id)


def _meant(row: Checkpoint, draft: Draft) -> Consequences:
    """The calls of the branch since the checkpoint. Raises Superseded, RunEnded when it had to be open."""
    return of_branch(row.branch, row) if draft.keeps_branch else consequences(row)


def _form(
    request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft, status: int = 200
) -> HttpResponse:
    try:
        found = _meant(row, draft)
    except Conflict as over:
        return _over(request, caller, row, draft, over)
    context = about(caller, row) | {
        "draft": draft,
        "touched": touched(found),
        "errors": list(draft.errors),
        "plan_version": _plan_version(row),
    }
    try:
        state = after(row, draft.changes)
        context["can_raw"] = state.size <= MOST_RAW
        if draft.is_raw and context["can_raw"]:
            context["raw"] = draft.raw or raw(row, state)
            return show(request, caller, "web/rewrite.html", context, nav="runs", status=status)
        place, fields = shown(row, state, draft)
        parts = draft.groups if draft.groups is not None else fields
        context |= {
            "look": place,
            "groups": parts,
            "first_field": "-" if draft.lacks_reason else first_field(parts),
        }
    except ReviewHubError as problem:
        context["errors"] = list(dict.fromkeys([*draft.errors, *words(problem)]))
        status = max(status, problem.status)
    return show(request, caller, "web/rewrite.html", context, nav="runs", status=status)


def _over(
    request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft, over: Conflict
) -> HttpResponse:
    """The branch takes no rewrite any more: who ended it, when, where it goes on. What was put together is shown, and
    can become a fork.
    """
    context = about(caller, row) | {
        "draft": draft,
        "conflict": over,
        "conflict_at": _when(over),
        "is_over": True,
        "was_sent": request.method == "POST",
    }
    return show(request, caller, "web/rewrite_confirm.html", context, nav="runs", status=over.status)


def _when(conflict: Conflict | None) -> datetime | None:
    """When somebody was faster."""
    at = conflict.extra.get("at") if conflict else None
    return datetime.fromisoformat(at) if at else None


def _plan_version(row: Checkpoint) -> int | None:
    """The version of the plan that the checkpoint names; None when it names none."""
    named = canonical.parse(row.plan)
    return wire.PlanRef.from_tree(named).version if isinstance(named, dict) else None
