"""What a person sends from the review page: a decision, a question, a comment, a claim.

The form never carries arguments: it names the version and digest that were shown, and an edit is the list of changes
that the server computes from the fields. So what nobody touched cannot change on the way through a browser.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters
from reviewhub_agents import canonical, wire
from reviewhub_agents.canonical import BadJson

from reviewhub.accounts.acting import NotAnyMore
from reviewhub.accounts.actors import mark_signed_in
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action, MemberCaller, require
from reviewhub.accounts.sign_in import sign_in
from reviewhub.core.clock import now
from reviewhub.core.errors import Conflict, Invalid, ReviewHubError
from reviewhub.core.limits import limits
from reviewhub.reviews.ask import ask as ask_agent
from reviewhub.reviews.assurance import APPROVING, check_signed_in, is_last_step, lets_run, must_sign_in
from reviewhub.reviews.claim import claim as claim_request
from reviewhub.reviews.comment import comment as comment_on
from reviewhub.reviews.decide import decide as decide_request
from reviewhub.reviews.errors import Changed, NotYours, RunErased
from reviewhub.reviews.holder import holder
from reviewhub.reviews.lock import check_open, check_shown
from reviewhub.reviews.look import lookers
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.queries import by_number
from reviewhub.reviews.release import release as release_request
from reviewhub.reviews.rows import Row
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.targets import request_target
from reviewhub.web.access import actor, page, posted
from reviewhub.web.answer_form import NotSent, check, read
from reviewhub.web.confirm import Confirmation, confirmation
from reviewhub.web.denied import check_not_denied
from reviewhub.web.evidence import Evidence, evidence
from reviewhub.web.forms import text_in, words
from reviewhub.web.render import show
from reviewhub.web.review import Typed, find, render_review
from reviewhub.web.stale import as_shown, meanwhile

SAID = {
    "approve": "Approved",
    "edit": "Changed and approved",
    "reject": "Rejected",
    "respond": "Answered",
    "happened": "Noted: it happened",
    "did_not_happen": "Noted: it did not happen",
    "skip": "Skipped",
}
FINAL_WORDS = "The agent goes on from here."


def _again(request: HttpRequest, caller: MemberCaller, row: ReviewRequest, error: Invalid) -> HttpResponse:
    typed, _ = read(request.POST, evidence(row, caller))
    return render_review(request, caller, row, typed=_with(typed, words(error)), status=error.status)


@sensitive_post_parameters("password")
@posted
@page(Action.REQUEST_DECIDE, of=find, again=_again)
def decide(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Sends a decision. Whatever goes wrong, what was typed is kept; `back` asks for the form as it was filled in, and
    `preview` of an edit for what it would change.
    """
    shown = evidence(row, caller)
    given = request.POST
    typed, tree = read(given, as_shown(given, row, shown))
    if given.get("back"):
        return render_review(request, caller, row, typed=_with(typed, []))
    try:
        check(given, shown, typed)
        body = wire.DecideBody.from_tree(tree, limits=limits())
    except NotSent as problem:
        return render_review(request, caller, row, typed=_with(typed, problem.errors), status=422)
    except BadJson as problem:
        errors = [f"{one['path'] or '/'}: {one['message']}" for one in problem.errors]
        return render_review(request, caller, row, typed=_with(typed, errors), status=422)
    try:
        if not _is_repeat(caller, row, body):
            check_open(row)
            check_shown(row, version=body.version, digest=body.digest)
            if body.type is wire.Verdict.APPROVE:
                check_not_denied(row, shown)
            _take(request, caller, row)
            _password(request, caller, row, shown, body)
            if given.get("preview"):
                tried = confirmation(row, shown, body, caller.member)
                return render_review(request, caller, row, typed=replace(typed, preview=tried))
            asked = _confirm(given, row, shown, body, caller.member)
            if asked is not None:
                return render_review(request, caller, row, typed=replace(typed, confirmation=asked))
        out = decide_request(
            request_id=row.pk,
            member=caller.member,
            body=body,
            body_digest=canonical.body_digest(tree),
            key=given.get("key", ""),
            actor=actor(request, caller),
        )
    except NotYours:
        return _held(request, caller, row, typed)
    except Conflict as conflict:
        return _conflict(request, caller, row, typed, conflict)
    except NotAnyMore:
        # Not theirs to look at any more either.
        raise
    except ReviewHubError as problem:
        errors = [
            problem.message,
            *(
                f"{one['path']}: {one['message']}"
                for one in getattr(problem, "errors", [])
                if one["message"] != problem.message
            ),
        ]
        fresh = by_number(row.workspace_id, row.number)
        return render_review(request, caller, fresh, typed=_with(typed, errors), status=problem.status)
    messages.success(request, _told(row, typed.mode, out))
    if out.was_given("standing"):
        messages.success(
            request,
            "Calls that this covers run at once from now on; see Standing approvals.",
        )
    return redirect(f"/{caller.member.workspace.slug}/requests/{row.number}")


def _is_repeat(caller: MemberCaller, row: ReviewRequest, body: wire.DecideBody) -> bool:
    """Whether this may be a second click on what this person has sent: the key tells, and no step comes in between."""
    is_as_shown = row.state == RequestState.PENDING and (row.version, row.digest) == (
        body.version,
        body.digest,
    )
    return not is_as_shown and row.reviews.filter(member=caller.member).exists()


def _ask_again(
    request: HttpRequest, caller: MemberCaller, row: ReviewRequest, error: Invalid
) -> HttpResponse:
    typed = Typed(mode="ask", message=request.POST.get("message", ""), errors=words(error))
    return render_review(request, caller, row, typed=typed, status=error.status)


@posted
@page(Action.REQUEST_ASK, of=find, again=_ask_again)
def ask(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Asks the agent; the request stays as it is."""
    text = text_in(request, "message")
    if not text:
        raise Invalid("Write the question.")
    try:
        ask_agent(
            request_id=row.pk,
            member=caller.member,
            text=text,
            actor=actor(request, caller),
            key=_key_of(request, text),
        )
    except Conflict as conflict:
        return _conflict(request, caller, row, Typed(mode="ask", message=text), conflict)
    messages.success(request, f"Asked {row.agent_name}. The request still waits.")
    return redirect(f"/{caller.member.workspace.slug}/requests/{row.number}")


def _key_of(request: HttpRequest, text: str) -> str:
    """The same words sent twice from one form count once; after going back to it, other words are another message."""
    key = request.POST.get("key", "")
    return f"{key}-{hashlib.sha256(text.encode()).hexdigest()[:16]}" if key else ""


def _comment_again(
    request: HttpRequest, caller: MemberCaller, row: ReviewRequest, error: Invalid
) -> HttpResponse:
    typed = Typed(comment=request.POST.get("text", ""), comment_errors=words(error))
    return render_review(request, caller, row, typed=typed, status=error.status)


@posted
@page(Action.REQUEST_COMMENT, of=find, again=_comment_again)
def comment(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Writes something for the other reviewers."""
    text = text_in(request, "text")
    if not text:
        raise Invalid("Write the comment first.")
    try:
        comment_on(
            request_id=row.pk,
            member=caller.member,
            text=text,
            actor=actor(request, caller),
            key=_key_of(request, text),
        )
    except RunErased as erased:
        return _conflict(request, caller, row, Typed(mode="comment", message=text), erased)
    return redirect(f"/{caller.member.workspace.slug}/requests/{row.number}#activity")


@posted
@page(Action.REQUEST_CLAIM, of=find)
def claim(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Takes the request for a while, or gives it back."""
    by = actor(request, caller)
    in_place = "HX-Request" in request.headers  # a row of the queue, which stays where it is
    try:
        if request.POST.get("release"):
            release_request(request_id=row.pk, member=caller.member, actor=by)
        else:
            take_over = request.POST.get("take_over") == "1"
            claim_request(request_id=row.pk, member=caller.member, actor=by, take_over=take_over)
    except Conflict:
        if not in_place:
            raise
    if not in_place:
        return redirect(f"/{caller.member.workspace.slug}/requests/{row.number}")
    # It says who has the request now, whoever was quicker.
    fresh = by_number(row.workspace_id, row.number)
    looks = lookers([fresh.pk], but=caller.member).get(fresh.pk, ())
    context = {"row": Row(fresh, now(), caller, looks), "oob": True}
    return show(request, caller, "web/_cells.html", context)


def _confirm(
    given: QueryDict, row: ReviewRequest, shown: Evidence, body: wire.DecideBody, member: Member
) -> Confirmation | None:
    """The one more step of an irreversible call, while it is missing or was about something else."""
    if body.type not in APPROVING or not is_last_step(row, shown.requirement.requirement):
        return None
    asked = confirmation(row, shown, body, member)
    is_sure = given.get("sure") == asked.digest
    return None if is_sure and asked.word in ("", given.get("confirm", "").strip()) else asked


def _password(
    request: HttpRequest, caller: MemberCaller, row: ReviewRequest, shown: Evidence, body: wire.DecideBody
) -> None:
    """Takes the password that an approval needs once more, before anything is confirmed.

    Raises:
        WrongPassword, SlowDown: as at sign-in.
        SignInAgain: there is none in the form.
    """
    if not lets_run(body.type):
        return
    password = request.POST.get("password", "")
    if password and must_sign_in(shown.requirement.requirement, actor(request, caller)):
        email, address = caller.member.person.email, request.META.get("REMOTE_ADDR", "")
        sign_in(email=email, password=password, address=address)
        mark_signed_in(request.session)
    check_signed_in(shown.requirement.requirement, body, actor(request, caller))


def _take(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> None:
    """Takes over somebody's claim when that was asked for. Raises NotYours when it was not."""
    if request.POST.get("take_over"):
        require(caller, Action.REQUEST_CLAIM, request_target(row))
        claim_request(request_id=row.pk, member=caller.member, actor=actor(request, caller), take_over=True)
    held_by = holder(row)
    if held_by is not None and held_by.pk != caller.member.pk:
        raise NotYours


def _held(request: HttpRequest, caller: MemberCaller, row: ReviewRequest, typed: Typed) -> HttpResponse:
    """Somebody else has claimed it: nothing is lost, and the form offers to take it over."""
    fresh = by_number(row.workspace_id, row.number)
    return render_review(request, caller, fresh, typed=replace(typed, is_held=True), status=409)


def _conflict(
    request: HttpRequest, caller: MemberCaller, row: ReviewRequest, typed: Typed, conflict: Conflict
) -> HttpResponse:
    """409: who was first and when, with the draft kept."""
    fresh = by_number(row.workspace_id, row.number)
    facts: dict[str, Any] = {"code": conflict.code, "message": conflict.message, **conflict.extra}
    if isinstance(conflict, Changed):
        facts["meanwhile"] = meanwhile(request.POST, fresh, evidence(fresh, caller), typed)
    return render_review(request, caller, fresh, typed=typed, conflict=facts, status=409)


def _with(typed: Typed, errors: list[str]) -> Typed:
    return replace(typed, errors=errors)


def _told(row: ReviewRequest, mode: str, out: wire.DecideOut) -> str:
    fresh = by_number(row.workspace_id, row.number)
    what = fresh.plain_sentence.rstrip(".")
    if out.state == "pending":
        got = f"{fresh.approvals} of {fresh.approvals_needed}"
        return f"Recorded, {got}: {what}. #{row.number} waits for {fresh.waits_for}."
    pause = fresh.tool_call.pause
    if pause is not None and pause.open_calls:
        others = "call waits" if pause.open_calls == 1 else "calls wait"
        return f"{SAID[mode]}: {what}. The agent waits: {pause.open_calls} more {others} at this pause."
    return f"{SAID[mode]}: {what}. {FINAL_WORDS}"
