"""What is sent from the page of later looks: verdicts, one or several, and what follows a flag."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from reviewhub_agents import canonical, wire
from reviewhub_agents.canonical import BadJson

from reviewhub.accounts.permissions import Action, MemberCaller, Target, require, scope_of
from reviewhub.core.errors import Conflict, Forbidden, Invalid, NotFound, ReviewHubError
from reviewhub.core.limits import limits
from reviewhub.core.rows import one_or_none
from reviewhub.gates.look_back import follow_back, look_back
from reviewhub.reviews.close_follow_up import close_follow_up
from reviewhub.reviews.looks import look_at, next_look
from reviewhub.reviews.models import FollowUp, PostReview
from reviewhub.reviews.reopen import reopen
from reviewhub.reviews.take_up_rule import take_up_rule
from reviewhub.reviews.targets import post_review_target, run_target
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in, words
from reviewhub.web.looks import MOST, cursor_in, filters_of, find, ids_in, kept_in, list_in, look_page

SAID = {"fine": "Fine", "flagged": "Flagged", "skipped": "Skipped"}
DONE = {
    "notify": "The agent's team was written to.",
    "draft_rule": "The guardrail is suggested; admins find it under Suggested rules.",
    "escalate": "It was handed on.",
}


def _again(
    request: HttpRequest, caller: MemberCaller, row: PostReview, error: ReviewHubError
) -> HttpResponse:
    note = request.POST.get("note", "")
    return look_page(request, caller, row.tool_call_id, errors=words(error), note=note, status=error.status)


@posted
@page(Action.POST_REVIEW_GRADE, of=find, again=_again)
def grade(request: HttpRequest, caller: MemberCaller, row: PostReview) -> HttpResponse:
    """Takes a verdict, and goes on to the next that waits for a look; or to the form of a corrective branch."""
    try:
        tree = _verdict(request)
        form = _form_of_branch(caller, row, tree)
        _look_back(request, caller, row, tree, request.POST.get("key", ""))
    except (Conflict, Forbidden) as error:
        return _again(request, caller, row, error)
    messages.success(request, f"{SAID[str(tree['verdict'])]}: {row.plain_sentence}"[:300])
    if form:
        return redirect(form)
    following = next_look(scope_of(caller), filters=filters_of(request, caller, "drawn"), after=row)
    return _to(request, caller, at=following, last=[row.tool_call_id])


def _look_back(
    request: HttpRequest, caller: MemberCaller, row: PostReview, tree: dict[str, Any], key: str
) -> None:
    try:
        body = wire.GradeBody.from_tree(tree, limits=limits())
    except BadJson as problem:
        raise Invalid(str(problem)) from problem
    look_back(
        call_id=row.tool_call_id,
        body=body,
        body_digest=canonical.body_digest(tree),
        key=key,
        actor=actor(request, caller),
    )


def _verdict(request: HttpRequest) -> dict[str, Any]:
    """The verdict as the API has it; severity and follow-up belong to a flag only."""
    given = request.POST
    tree: dict[str, Any] = {"verdict": given.get("verdict", "")}
    if note := text_in(request, "note"):
        tree["note"] = note
    if tree["verdict"] != "flagged":
        return tree
    if not given.get("severity"):
        raise Invalid.at("/severity", "A flag needs a severity: low, medium or high.")
    tree["severity"] = given["severity"]
    if kind := given.get("follow_up", ""):
        tree["follow_up"] = kind
    if kind == "escalate":
        tree["to"] = given.get("to", "")
    return tree


def _form_of_branch(caller: MemberCaller, row: PostReview, tree: dict[str, Any]) -> str:
    """Where a corrective branch is made, with a changed state or the same; "" when none is asked for.

    Takes it out of the verdict, which counts at once.

    Raises:
        Forbidden: the person may not fork.
        Invalid: the call came without a checkpoint.
    """
    if tree.get("follow_up") != "fork":
        return ""
    del tree["follow_up"]
    require(caller, Action.CHECKPOINT_REWRITE, run_target(row.run))
    checkpoint = row.tool_call.checkpoint_id
    if checkpoint is None:
        raise Invalid.at("/follow_up", "this call came without a checkpoint, so nothing can go on from there")
    asked = urlencode({"look": str(row.tool_call_id), "reason": tree.get("note", "")})
    return f"/{caller.member.workspace.slug}/checkpoints/{checkpoint}/rewrite?{asked}"


@posted
@page(Action.POST_REVIEW_GRADE, of=find, again=_again)
def follow_up(request: HttpRequest, caller: MemberCaller, row: PostReview) -> HttpResponse:
    """One more follow-up of a flag; of a corrective branch the form that makes it."""
    kind = request.POST.get("follow_up", "")
    tree: dict[str, Any] = {"kind": kind}
    if note := text_in(request, "note"):
        tree["note"] = note
    if form := _form_of_branch(caller, row, {"follow_up": kind, "note": note or row.note}):
        return redirect(form)
    if kind == "escalate":
        tree["to"] = request.POST.get("to", "")
    try:
        follow_back(
            call_id=row.tool_call_id,
            body=wire.FollowUpBody.from_tree(tree, limits=limits()),
            body_digest=canonical.body_digest(tree),
            key=request.POST.get("key", ""),
            actor=actor(request, caller),
        )
    except BadJson as problem:
        raise Invalid(str(problem)) from problem
    except (Conflict, Forbidden) as error:
        return _again(request, caller, row, error)
    messages.success(request, DONE[kind])
    return redirect(f"/{caller.member.workspace.slug}/post-review/{row.tool_call_id}")


@posted
@page(Action.POST_REVIEW_GRADE, of=find)
def take_back(request: HttpRequest, caller: MemberCaller, row: PostReview) -> HttpResponse:
    """Takes a verdict back."""
    try:
        reopen(call_id=row.tool_call_id, actor=actor(request, caller))
    except Conflict as error:
        return _again(request, caller, row, error)
    messages.success(request, "The verdict was taken back.")
    return redirect(f"/{caller.member.workspace.slug}/post-review?at={row.tool_call_id}")


@posted
@page(Action.POST_REVIEW_GRADE)
def batch(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """One verdict for all that are ticked, each in a transaction of its own; says what was not taken, and why."""
    picks = _picks(request)
    try:
        tree = _verdict(request)
        tree.pop("follow_up", None)
        if not picks:
            raise Invalid("Nothing is ticked.")
    except Invalid as error:
        return look_page(request, caller, None, errors=words(error), status=error.status)
    key = request.POST.get("key", "")
    refused = _each(caller, picks, lambda row: _look_back(request, caller, row, tree, key))
    if done := len(picks) - len(refused):
        messages.success(request, f"{SAID[str(tree['verdict'])]}: {done} of {len(picks)}.")
    if refused:
        return look_page(request, caller, None, errors=refused, status=409)
    return _to(request, caller, last=ids_in(picks))


@posted
@page(Action.POST_REVIEW_GRADE)
def take_back_all(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Takes the verdicts of a batch back, each in a transaction of its own; says which stay, and why."""
    picks = _picks(request)
    if not picks:
        return look_page(request, caller, None, errors=["No verdict is named."], status=422)
    by = actor(request, caller)
    refused = _each(caller, picks, lambda row: reopen(call_id=row.tool_call_id, actor=by))
    if done := len(picks) - len(refused):
        said = "The verdict was taken back." if done == 1 else f"{done} verdicts were taken back."
        messages.success(request, said)
    if refused:
        return look_page(request, caller, None, errors=refused, status=409)
    return redirect(f"/{caller.member.workspace.slug}/post-review?{kept_in({'at': picks[0]})}")


def _picks(request: HttpRequest) -> list[str]:
    return list(dict.fromkeys(request.POST.getlist("pick")))[:MOST]


def _each(caller: MemberCaller, picks: list[str], act: Callable[[PostReview], Any]) -> list[str]:
    """Does it to each; gives why some were not taken."""
    return [problem for pick in picks if (problem := _one_of(caller, pick, act))]


def _one_of(caller: MemberCaller, pick: str, act: Callable[[PostReview], Any]) -> str:
    """Why one of a batch was not taken; empty when it was."""
    try:
        row = look_at(scope_of(caller), uuid.UUID(pick))
        require(caller, Action.POST_REVIEW_GRADE, post_review_target(row))
        act(row)
    except ValueError:
        return "This is no action of the list."
    except NotFound as problem:
        return problem.message
    except ReviewHubError as problem:
        return f"{row.plain_sentence}: {problem.message}"[:300]
    return ""


def find_follow_up(caller: MemberCaller, follow_up_id: uuid.UUID) -> tuple[FollowUp, Target]:
    """One follow-up of the workspace."""
    rows = FollowUp.objects.select_related("post_review__agent", "post_review__workspace")
    one = one_or_none(rows.filter(pk=follow_up_id, workspace_id=caller.workspace_id))
    if one is None:
        raise NotFound
    return one, post_review_target(one.post_review)


@posted
@page(Action.POST_REVIEW_GRADE, of=find_follow_up)
def close(request: HttpRequest, caller: MemberCaller, one: FollowUp) -> HttpResponse:
    """Somebody has seen to it."""
    close_follow_up(follow_up_id=one.pk, note=text_in(request, "note"), actor=actor(request, caller))
    messages.success(request, "Closed.")
    return redirect(f"/{caller.member.workspace.slug}/post-review/{one.post_review.tool_call_id}")


def find_suggestion(caller: MemberCaller, follow_up_id: uuid.UUID) -> tuple[FollowUp, Target]:
    """One follow-up, to be taken into the policy of the whole workspace."""
    one, _ = find_follow_up(caller, follow_up_id)
    return one, Target(workspace_id=caller.workspace_id)


@posted
@page(Action.POLICY_EDIT, of=find_suggestion)
def take_up(request: HttpRequest, caller: MemberCaller, one: FollowUp) -> HttpResponse:
    """Puts the guardrail that a flag suggests into the draft of the policy."""
    take_up_rule(workspace=caller.member.workspace, follow_up_id=one.pk, actor=actor(request, caller))
    messages.success(request, "The guardrail is in the draft.")
    return redirect(f"/{caller.member.workspace.slug}/policy/draft")


def _to(
    request: HttpRequest,
    caller: MemberCaller,
    *,
    at: PostReview | None = None,
    last: list[uuid.UUID],
) -> HttpResponse:
    lists = list_in(request)
    filters = filters_of(request, caller, lists)
    kept = kept_in(
        {
            "show": lists if lists != "drawn" else "",
            "agent": filters.agent,
            "tool": filters.tool,
            "cursor": cursor_in(request),
            "at": str(at.tool_call_id) if at else "",
            "last": [str(one) for one in last],
        }
    )
    return redirect(f"/{caller.member.workspace.slug}/post-review?{kept}")
