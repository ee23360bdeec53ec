"""Rewriting a run's state: a form, a look at what it means, and the rewrite. Without JavaScript.

Nothing is kept between the steps but in the form itself: the changes so far travel as a list, which the server applies
to the checkpoint (that never changes) each time. So what nobody touched never went through a browser.

With `look`, a call that was flagged afterwards, the same form makes a corrective branch, which supersedes nothing.
"""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from reviewhub_agents import canonical, wire
from reviewhub_agents.canonical import BadJson, Tree

from reviewhub.accounts.permissions import Action, MemberCaller, require
from reviewhub.checkpoints.difference import between
from reviewhub.checkpoints.edit import edited
from reviewhub.checkpoints.fork import beginning
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.tree import State
from reviewhub.core.changes import parse_changes
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.core.errors import Conflict, Invalid, NotFound, ReviewHubError, TooLarge
from reviewhub.core.limits import limits, parse_sent
from reviewhub.gates.consequences import consequences
from reviewhub.gates.look_back import follow_back
from reviewhub.gates.rewrite import rewrite as rewrite_run
from reviewhub.web.access import actor, page
from reviewhub.web.checkpoints import about, find, number_in, read_state, touched
from reviewhub.web.differing import MOST, MOST_BYTES, listed
from reviewhub.web.field import escaped
from reviewhub.web.forms import text_in, words
from reviewhub.web.looks import find as find_look
from reviewhub.web.plan_view import base_of
from reviewhub.web.raw_edit import open_changes, raw_text
from reviewhub.web.render import show
from reviewhub.web.rewrite_draft import Draft
from reviewhub.web.state_fields import MOST_ROWS, Group, by_path, first_field, groups, read
from reviewhub.web.state_view import Look, look, schema_of

MOST_RAW = 200_000
"""Bytes of a state that a page still offers as one JSON text to edit."""
MOST_REASON: Final = 2000
"""Characters of a note that an address hands over."""


def _again(request: HttpRequest, caller: MemberCaller, row: Checkpoint, error: Invalid) -> HttpResponse:
    given = request.POST
    kept: list[Tree] = []
    with contextlib.suppress(Invalid):
        kept = _pending(given.get("changes", ""))
    reason = given.get("reason", "")
    draft = Draft(
        changes=kept,
        reason=reason,
        look=_looked_at(caller, row, given),
        errors=tuple(words(error)),
        typed=_typed(given),
        is_raw=_is_raw(given),
        raw=given.get("raw", ""),
    )
    return _form(request, caller, row, draft, status=error.status)


@page(Action.CHECKPOINT_REWRITE, of=find, again=_again)
def rewrite(request: HttpRequest, caller: MemberCaller, row: Checkpoint) -> HttpResponse:
    """The form by GET (`?path=` opens a place of the state); by POST one of its steps, `do` says which."""
    if request.method != "POST":
        given = request.GET
        start, looked = number_in(given.get("from", "0"), "/from"), _looked_at(caller, row, given)
        reason = given.get("reason", "")[:MOST_REASON] if looked else ""
        draft = Draft(
            path=given.get("path", ""), start=start, look=looked, reason=reason, is_raw=_is_raw(given)
        )
        return _form(request, caller, row, draft)
    return _step(request, caller, row)


def _step(request: HttpRequest, caller: MemberCaller, row: Checkpoint) -> HttpResponse:
    given = request.POST
    draft = Draft(
        changes=_pending(given.get("changes", "")),
        reason=text_in(request, "reason"),
        plan=given.get("plan", "") or wire.PlanChoice.KEEP.value,
        path=given.get("path", ""),
        start=number_in(given.get("from", "0"), "/from"),
        look=_looked_at(caller, row, given),
        is_raw=_is_raw(given),
    )
    if given.get("do") == "confirm":
        return (_correct if draft.look else _confirm)(request, caller, row, draft)
    if "drop" in given:
        at = number_in(given["drop"], "/drop")
        return _form(request, caller, row, replace(draft, changes=_without(draft.changes, at)))
    if not given.get("back"):
        draft = _taken(given, row, draft)
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


def _taken(given: QueryDict, row: Checkpoint, draft: Draft) -> Draft:
    """The draft with the changes that the form's fields mean; or with errors, and as it was filled in."""
    state = _after(row, draft.changes)
    if "raw" in given:
        return _taken_raw(str(given["raw"]), row, state, draft)
    _, shown = _shown(row, state, draft)
    removed = frozenset(name[2:] for name in given if name.startswith("r:"))
    found, filled = read(given.dict(), shown, removed)  # type: ignore[arg-type]
    errors = [f"{one.path}: {one.error}" for group in filled for one in group.fields if one.error]
    try:
        found += by_path(given.dict())  # type: ignore[arg-type]
    except ValueError as problem:
        errors.append(str(problem))
    changed = replace(draft, changes=[*draft.changes, *found])
    errors = errors or _refused(row, changed)
    if errors:
        return replace(draft, groups=filled, typed=_typed(given)).refused(*errors)
    return changed


def _taken_raw(raw: str, row: Checkpoint, state: State, draft: Draft) -> Draft:
    """The draft with the changes that the edited JSON means; or with errors, and the JSON as it was typed."""
    try:
        found = open_changes(raw, state.text, write_only_paths(schema_of(row), state.text))
    except BadJson as problem:
        return replace(draft, raw=raw).refused(*_faults(problem))
    except ValueError as problem:
        return replace(draft, raw=raw).refused(str(problem))
    changed = replace(draft, changes=[*draft.changes, *found])
    errors = _refused(row, changed)
    return replace(draft, raw=raw).refused(*errors) if errors else changed


def _refused(row: Checkpoint, draft: Draft) -> list[str]:
    """Why these changes cannot be made; empty when they can."""
    try:
        _body(replace(draft, reason=draft.reason or "-"))
        _after(row, draft.changes)
    except BadJson as problem:
        return _faults(problem)
    except (Invalid, TooLarge) as problem:
        return words(problem)
    return []


def _preview(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    """What the rewrite means, and the last question."""
    if not draft.reason:
        return _form(
            request, caller, row, draft.refused("Say why; the record and the agent's people read it."), 422
        )
    return _asked(request, caller, row, draft)


def _asked(
    request: HttpRequest,
    caller: MemberCaller,
    row: Checkpoint,
    draft: Draft,
    conflict: Conflict | None = None,
) -> HttpResponse:
    try:
        found = None if draft.look else consequences(row)
        first = beginning(checkpoint=row, changes=draft.changes, reason=draft.reason)
    except Conflict as over:
        return _over(request, caller, row, draft, over)
    except (Invalid, TooLarge) as problem:
        return _form(request, caller, row, draft.refused(*words(problem)), 422)
    changes = between(read_state(row), first.placed.state, most=MOST, most_bytes=MOST_BYTES)
    context = about(caller, row) | {
        "draft": draft,
        "changes": listed(changes, schema=schema_of(row)),
        "more": changes.more,
        "most": MOST,
        "touched": touched(found) if found else None,
        "seen": found.seen if found else "",
        "plan_version": _plan_version(row),
        "plan_now": base_of(row.branch),
        "conflict": conflict,
        "conflict_at": _when(conflict),
    }
    status = conflict.status if conflict else 200
    return show(request, caller, "web/rewrite_confirm.html", context, nav="runs", status=status)


def _confirm(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    try:
        body = _body(draft, seen=request.POST.get("seen", ""))
    except BadJson as problem:
        return _form(request, caller, row, draft.refused(*_faults(problem)), 422)
    try:
        made = rewrite_run(
            checkpoint=row,
            changes=body.changes,
            reason=body.reason,
            actor=actor(request, caller),
            seen=body.seen or "",
            plan=body.plan,
        )
    except Conflict as conflict:
        return _asked(request, caller, row, draft, conflict)
    ended = made.closed.requests + made.closed.grants
    said = f"{made.old.branch.name} is superseded by {made.branch.name}, which goes on from here."
    if ended:
        said += (
            f" {ended} request{'s' if ended > 1 else ''} or approval{'s' if ended > 1 else ''} ended with it."
        )
    messages.success(request, said)
    return redirect(f"/{caller.member.workspace.slug}/checkpoints/{made.first.pk}")


def _correct(request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft) -> HttpResponse:
    """Makes the corrective branch, as what follows the flag."""
    tree: dict[str, Tree] = {
        "kind": wire.FollowUpKind.FORK.value,
        "note": draft.reason,
        "changes": draft.changes,
    }
    try:
        follow_back(
            call_id=uuid.UUID(draft.look),
            body=wire.FollowUpBody.from_tree(tree, limits=limits()),
            body_digest=canonical.body_digest(tree),
            key=request.POST.get("key", ""),
            actor=actor(request, caller),
        )
    except BadJson as problem:
        return _form(request, caller, row, draft.refused(*_faults(problem)), 422)
    except (Conflict, Invalid, TooLarge) as problem:
        return _form(request, caller, row, draft.refused(*words(problem)), problem.status)
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


def _form(
    request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft, status: int = 200
) -> HttpResponse:
    found = None
    if not draft.look:
        try:
            found = consequences(row)
        except Conflict as over:
            return _over(request, caller, row, draft, over)
    context = about(caller, row) | {
        "draft": draft,
        "touched": touched(found) if found else None,
        "errors": list(draft.errors),
        "plan_version": _plan_version(row),
    }
    try:
        state = _after(row, draft.changes)
        context["can_raw"] = state.size <= MOST_RAW
        if draft.is_raw and context["can_raw"]:
            context["raw"] = draft.raw or _raw(row, state)
            return show(request, caller, "web/rewrite.html", context, nav="runs", status=status)
        place, shown = _shown(row, state, draft)
        parts = draft.groups if draft.groups is not None else shown
        context |= {"look": place, "groups": parts, "first_field": first_field(parts)}
    except ReviewHubError as problem:
        context["errors"] = [*draft.errors, *words(problem)]
        status = max(status, problem.status)
    return show(request, caller, "web/rewrite.html", context, nav="runs", status=status)


def _over(
    request: HttpRequest, caller: MemberCaller, row: Checkpoint, draft: Draft, over: Conflict
) -> HttpResponse:
    """The branch takes no rewrite any more: who ended it, when, where it goes on. What was put together is shown."""
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


def _shown(row: Checkpoint, state: State, draft: Draft) -> tuple[Look, list[Group]]:
    place = look(state, path=draft.path, start=draft.start, schema=schema_of(row), most_rows=MOST_ROWS)
    return place, groups(state, place)


def _raw(row: Checkpoint, state: State) -> str:
    """The whole state as JSON to edit, each secret replaced by a word that stands for it."""
    return escaped(raw_text(state.text, write_only_paths(schema_of(row), state.text)))


def _is_raw(given: QueryDict) -> bool:
    return given.get("mode") == "raw"


def _after(row: Checkpoint, changes: list[Tree]) -> State:
    """The checkpoint's state with these changes."""
    state = read_state(row)
    if not changes:
        return state
    return edited(state, parse_changes(changes), max_bytes=settings.LIMIT_STATE_BYTES)


def _body(draft: Draft, *, seen: str = "") -> wire.RewriteBody:
    """The rewrite as the API takes it. Raises BadJson."""
    tree: dict[str, Any] = {"changes": draft.changes, "reason": draft.reason, "plan": draft.plan}
    if seen:
        tree["seen"] = seen
    return wire.RewriteBody.from_tree(tree, limits=limits())


def _plan_version(row: Checkpoint) -> int | None:
    """The version of the plan that the checkpoint names; None when it names none."""
    named = canonical.parse(row.plan)
    return wire.PlanRef.from_tree(named).version if isinstance(named, dict) else None


def _pending(text: str) -> list[Tree]:
    """The changes that came with the form. Raises Invalid for what no form of ours sends."""
    if not text:
        return []
    try:
        tree = parse_sent(text)
    except BadJson as error:
        raise Invalid("The list of changes came back damaged; begin again.") from error
    if not isinstance(tree, list):
        raise Invalid("The list of changes came back damaged; begin again.")
    parse_changes(tree)
    return tree


def _without(changes: list[Tree], at: int) -> list[Tree]:
    return [one for place, one in enumerate(changes) if place != at]


def _typed(given: QueryDict) -> dict[str, str]:
    return {name: str(given.get(name, "")) for name in ("op", "at", "as", "value")}


def _faults(error: BadJson) -> list[str]:
    return [f"{one['path'] or '/'}: {one['message']}" for one in error.errors] or [str(error)]
