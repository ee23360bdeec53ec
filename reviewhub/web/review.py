"""The review page: the evidence, and the form that decides."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse

from reviewhub.accounts.permissions import Action, MemberCaller, Target, allowed, scope_of
from reviewhub.audit.models import SealKey
from reviewhub.core.clock import now
from reviewhub.core.display import arguments
from reviewhub.core.errors import NotFound
from reviewhub.gates.explain import explain_request
from reviewhub.hosting.unreadable import unreadable
from reviewhub.insights.note_opening import note_opening
from reviewhub.reviews.deciders import deciders
from reviewhub.reviews.edit import EDITED
from reviewhub.reviews.hand_over import colleagues
from reviewhub.reviews.holder import holder
from reviewhub.reviews.kinds import edit_brings
from reviewhub.reviews.look import lookers
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.queries import by_number, has_answered, neighbours, newest_event
from reviewhub.reviews.reasons import reasons_of
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rows import Row
from reviewhub.reviews.snooze import snoozed_until, spans
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.targets import request_target
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.standing.remember import why_not
from reviewhub.toolcalls.models import Decision
from reviewhub.toolcalls.states import DecisionType
from reviewhub.web.access import actor, page
from reviewhub.web.beside import beside
from reviewhub.web.called import outcome
from reviewhub.web.confirm import Confirmation
from reviewhub.web.denied import denied
from reviewhub.web.evidence import Evidence, evidence
from reviewhub.web.field import Field, escaped
from reviewhub.web.policy_conditions import TESTS
from reviewhub.web.raw_edit import raw_text
from reviewhub.web.remembering import RememberForm, suggested
from reviewhub.web.render import show
from reviewhub.web.schema_fields import fields
from reviewhub.web.sign_off import SignOff, sign_off
from reviewhub.web.templatetags.rh import did

MODES = {
    "approve": ("check", "Approve", "a"),
    "edit": ("edit", "Edit", "e"),
    "reject": ("x", "Reject", "r"),
    "respond": ("right", "Answer", "s"),
    "ask": ("reply", "Ask", "q"),
    "happened": ("check", "It happened", "a"),
    "did_not_happen": ("x", "It did not", "r"),
    "skip": ("right", "Skip", "s"),
}


COLLEAGUES = 200


@dataclass(frozen=True)
class Handing:
    """What somebody typed to hand a request over."""

    to: str = ""
    note: str = ""
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Typed:
    """What somebody typed into the form, kept over errors and conflicts."""

    mode: str = "approve"
    message: str = ""
    note: str = ""
    value: str = ""
    value_as: str = ""
    reads_as: str = ""
    raw: str = ""
    confirm: str = ""
    seen: bool = False
    is_json: bool = False
    fields: list[Field] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    confirmation: Confirmation | None = None
    preview: Confirmation | None = None
    as_json: bool = False
    is_held: bool = False
    comment: str = ""
    comment_errors: list[str] = field(default_factory=list)
    remember: RememberForm = field(default_factory=RememberForm)
    reason: str = ""
    handing: Handing = field(default_factory=Handing)
    reveal_reason: str = ""
    reveal_errors: list[str] = field(default_factory=list)

    @property
    def has_words(self) -> bool:
        """Whether anything was filled in."""
        texts = (self.message, self.note, self.value, self.raw)
        return bool(self.changed) or any(text.strip() for text in texts)

    @property
    def changed(self) -> list[Field]:
        """The fields that hold something else than the call."""
        return [one for one in self.fields if one.is_changed]


@dataclass(frozen=True)
class Deed:
    """One line of the activity."""

    at: datetime
    who: str
    icon: str
    did: str
    text: str = ""


def find(caller: MemberCaller, number: int) -> tuple[ReviewRequest, Target]:
    """The request of an address, and what the permission function is asked about."""
    row = by_number(caller.workspace_id, number)
    return row, request_target(row)


@page(Action.REQUEST_READ, of=find)
def why(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """Why the call is held: what each guardrail and each rule of the version that answered says to it."""
    found = explain_request(row)
    return show(request, caller, "web/why.html", {"row": row, "explained": found}, nav="queue")


@page(Action.REQUEST_READ, of=find)
def review(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """One request. `?mode=` says which form is open."""
    note_opening(row, caller)
    mode = request.GET.get("mode", "")
    typed = Typed(mode=mode, as_json=bool(request.GET.get("json")))
    return render_review(request, caller, row, typed=typed)


@page(Action.REQUEST_READ, of=find)
def live(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """The parts that change while somebody reads: votes, activity, outcome, the answer's form when the reader's turn
    comes or is over, and a banner when the form is too late.

    `?version=`, `?mode=`, `?answer=` and `?open=` say what the page shows, `?reads=` that it has no form, `?typed=`
    that something was typed into it; the arguments and what is being typed are never replaced.
    """
    given = request.GET
    context = _context(request, caller, row, Typed(mode=given.get("mode", "")))
    is_changed = context["is_open"] and given.get("version", "") not in ("", str(row.version))
    context |= {
        "is_opened": False,  # what comes by itself takes nobody's focus
        "is_closed_meanwhile": bool(given.get("open")) and not context["is_open"],
        "is_changed_meanwhile": is_changed,
        "is_asked_meanwhile": bool(given.get("reads")) and context["takes_answer"],
        "is_answer_new": context["takes_answer"]
        and not is_changed
        and given.get("answer", "") not in ("", context["answer_state"]),
        "typing": bool(given.get("typed")),
    }
    return show(request, caller, "web/_live_review.html", context)


@page(Action.REQUEST_READ, of=find)
def value(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """One long value of the arguments, or of what the agent claims (`?of=claims`), sheet by sheet."""
    shown = evidence(row, caller)
    path, number = request.GET.get("path", ""), request.GET.get("sheet", "1")
    is_claim = request.GET.get("of") == "claims"
    try:
        found = arguments.sheet(
            row.tool_call.claims if is_claim else shown.text,
            path,
            number=int(number) if number.isdecimal() else 1,
            secret_paths=() if is_claim else shown.secret_paths,
        )
    except KeyError as error:
        raise NotFound from error
    context = {"request_row": row, "path": path, "sheet": found, "is_claim": is_claim}
    return show(request, caller, "web/value.html", context, nav="queue")


@page(Action.REQUEST_READ, of=find)
def further(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """The arguments page by page (`?page=`), where they are more than the request's page lists."""
    shown = evidence(row, caller).arguments
    given = request.GET.get("page", "1")
    number = int(given) if given.isascii() and given.isdecimal() and len(given) < 6 else 1
    try:
        rows = shown.page(number)
    except KeyError as error:
        raise NotFound from error
    context = {"row": row, "rows": rows, "number": number, "shown": shown}
    return show(request, caller, "web/arguments.html", context, nav="queue")


def render_review(
    request: HttpRequest,
    caller: MemberCaller,
    row: ReviewRequest,
    *,
    typed: Typed,
    conflict: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The whole page, with the form as it was filled in."""
    context = _context(request, caller, row, typed) | beside(row, caller)
    if conflict is not None:
        context |= {"mode": "conflict", "conflict": conflict}
    return show(request, caller, "web/review.html", context, nav="queue", status=status)


def _context(request: HttpRequest, caller: MemberCaller, row: ReviewRequest, typed: Typed) -> dict[str, Any]:
    """What the live parts of the page are made of, and the rest of it that is about the request alone; the same number
    of queries for any request."""
    since = newest_event(caller.workspace_id)  # first: what comes later is told twice rather than never
    at = now()
    shown = evidence(row, caller)
    modes = modes_for(row, shown.requirement)
    asked = mode_asked(typed.mode, modes)
    mode = asked or next(iter(modes), "approve")
    is_open = row.state == RequestState.PENDING
    is_late = is_open and row.deadline_at is not None and row.deadline_at <= at
    may_decide = allowed(caller, Action.REQUEST_DECIDE, request_target(row))
    form = typed.fields or (fields_for(shown) if mode == "edit" else [])
    before, after = neighbours(scope_of(caller), row, member_id=caller.member.pk)
    signoff = sign_off(
        row, shown.requirement, caller, who=actor(request, caller), votes=shown.counted, mode=mode
    )
    voted = _has_approved(caller, row, shown)
    takes_answer = is_open and not is_late and may_decide
    by_now = denied(row, shown)
    return {
        "row": row,
        "line": Row(row, at, caller, lookers([row.pk], but=caller.member).get(row.pk, ())),
        "evidence": shown,
        "repeats": row.repeats.select_related("branch").prefetch_related("requests").order_by("created_at"),
        "here": f"/{caller.member.workspace.slug}/requests/{row.number}",
        "is_open": is_open,
        "is_late": is_late,
        "can_decide": may_decide,
        "reads_audit": allowed(caller, Action.AUDIT_READ, Target(workspace_id=caller.workspace_id)),
        "takes_answer": takes_answer,
        "denied": by_now,
        "takes_edit": "edit" in modes,
        "unreadable": unreadable(row.branch, agent=row.agent) if is_open else "",
        "can_reveal": shown.hides and allowed(caller, Action.SECRET_REVEAL, request_target(row)),
        "signoff": signoff,
        "modes": [(name, *MODES[name]) for name in modes],
        "mode": mode,
        "is_opened": asked != "",
        "never_answered": mode == "ask" and not has_answered(row.agent_id),
        "typed": typed,
        "conflict": None,
        "fields": form,
        "first_field": _first(form),
        "raw_text": escaped(raw_text(shown.text, shown.secret_paths)) if typed.as_json else "",
        "key": uuid.uuid4(),
        "voted": voted,
        "answer_state": _answer_state(row, signoff, voted=voted, is_denied=by_now is not None),
        "missing": max(0, row.approvals_needed - row.approvals),
        "edits": shown.edits(),
        "claim": holder(row),
        **(_remembering(row, shown, typed, at) if mode == "approve" and is_open and may_decide else {}),
        "reasons": reasons_of(caller.workspace_id) if takes_answer and mode == "reject" else [],
        **(_handing(row, shown, caller, at) if takes_answer else {}),
        **_ending(row, shown),
        "deeds": _deeds(row, shown),
        "before": before,
        "after": after,
        "since": since,
    }


def fields_for(shown: Evidence) -> list[Field]:
    """The form's fields for the arguments on the page."""
    return fields(
        shown.tool.schema if shown.tool else "",
        shown.text,
        shown.secret_paths,
        shown.requirement.requirement.locked_fields,
    )


def modes_for(row: ReviewRequest, stored: Stored) -> list[str]:
    """The kinds of answer that this request takes, in the order of the page; asking the agent is possible too."""
    found = list(stored.decisions(row.kind))
    return found if row.kind == ReviewRequest.Kind.UNKNOWN else [*found, "ask"]


def mode_asked(name: str, modes: list[str]) -> str:
    """The form that was asked for: by its name, or as what has its key here. Empty for none of this request's."""
    if name in modes or name not in MODES:
        return name if name in modes else ""
    return next((one for one in modes if MODES[one][2] == MODES[name][2]), "")


def _remembering(row: ReviewRequest, shown: Evidence, typed: Typed, at: datetime) -> dict[str, Any]:
    """The fields for letting the approval stand, where that is possible."""
    if row.kind != ReviewRequest.Kind.APPROVAL or row.approvals_needed > 1 or why_not(row.tool_call):
        return {}
    asked = typed.remember if typed.remember.is_asked else suggested(shown.text, shown.secret_paths, at)
    return {"remember": asked, "tests": TESTS}


def _first(form: list[Field]) -> str:
    """The path of the field to begin with: the first that is wrong, else the first that can be changed."""
    ready = [one for one in form if one.control != "locked"]
    return next((one.path for one in [*(one for one in ready if one.error), *ready]), "-")


def _handing(row: ReviewRequest, shown: Evidence, caller: MemberCaller, at: datetime) -> dict[str, Any]:
    """What there is to do with an open request instead of deciding it."""
    mine = (vote for vote in shown.counted if vote.member_id == caller.member.pk)
    return {
        "my_vote": next(mine, None),
        "colleagues": colleagues(row, but=caller.member)[:COLLEAGUES],
        "snoozed_until": snoozed_until(row, caller.member),
        "spans": spans(row, at),
    }


def _answer_state(row: ReviewRequest, signoff: SignOff, *, voted: bool, is_denied: bool) -> str:
    """All that the form says beside what is typed: it changes when votes do, and when the reader's turn comes."""
    barred = signoff.barred.code if signoff.barred else "denied" if is_denied else "free"
    return f"{barred}-{int(voted)}-{row.approvals}-{signoff.with_yours}-{row.approvals_needed}"


def _has_approved(caller: MemberCaller, row: ReviewRequest, shown: Evidence) -> bool:
    """Whether this person's approval of this version counts already and others are still needed."""
    mine = (vote for vote in shown.counted if vote.member_id == caller.member.pk)
    return any(vote.version == row.version and vote.verdict in ("approve", "edit") for vote in mine)


def _ending(row: ReviewRequest, shown: Evidence) -> dict[str, Any]:
    """How the request ended and what came of the call. `said` is the person who said that it happened."""
    decisions = list(Decision.objects.filter(tool_call_id=row.tool_call_id).order_by("decided_at", "id"))
    mine = next((one for one in decisions if one.request_id == row.pk), None)
    last = decisions[-1] if decisions else None
    return {
        "decision": mine,
        "deciders": _approvers(row, deciders(mine, shown.counted)) if mine else [],
        "proof_command": _proof_command(row) if mine else "",
        "said": last if last and last.type == DecisionType.HAPPENED else None,
        "is_run_over": row.branch.state not in OPEN_BRANCH,
        "others_wait": row.tool_call.pause.open_calls if row.tool_call.pause else 0,
        "call_outcome": outcome(row.tool_call, shown.tool.result_schema if shown.tool else ""),
    }


def _proof_command(row: ReviewRequest) -> str:
    """What checks the receipts of this request; empty while there is no key yet."""
    key = SealKey.objects.order_by("-number").first()
    return f"python verify_audit.py receipts-{row.number}.json --key {key.public}" if key else ""


def _approvers(row: ReviewRequest, names: list[str]) -> list[str]:
    """Who decided; of a version that one made and others approved, those others."""
    return [name for name in names if name != row.edited_by_name] or names


def _deeds(row: ReviewRequest, shown: Evidence) -> list[Deed]:
    """What happened to the request, the newest first."""
    found = [Deed(row.created_at, row.agent_name, "gate", f"paused {_why_paused(row, shown)}".rstrip())]
    for vote in shown.votes:
        void = f" (void: {vote.voided_because})" if vote.voided_at else ""
        place = f" in the place of {vote.in_place_of}" if vote.in_place_of else ""
        found.append(
            Deed(
                vote.created_at,
                vote.name,
                "",
                f"{did(vote.verdict)}{_brought(vote, shown)}{place}{void}",
                vote.message or vote.note,
            )
        )
    found += [Deed(one.created_at, one.name, "", "", one.text) for one in row.comments.order_by("created_at")]
    for question in row.questions.order_by("created_at"):
        found.append(Deed(question.created_at, question.name, "", "asked the agent", question.text))
        if question.answered_at is not None:
            found.append(Deed(question.answered_at, row.agent_name, "bot", "answered", question.answer or ""))
    if row.decided_at is not None:
        found.append(Deed(row.decided_at, row.decided_by_name, "gate", f"closed it: {_how_closed(row)}"))
    return sorted(found, key=lambda deed: deed.at, reverse=True)


def _why_paused(row: ReviewRequest, shown: Evidence) -> str:
    """Why it was held when it was opened, whatever edits have brought since; empty where that was not written down."""
    if row.kind == ReviewRequest.Kind.UNKNOWN:
        return "because nobody knows whether it happened"
    stored = shown.requirement
    is_edited = any(one.version > 1 and one.created_at > row.created_at for one in shown.versions)
    if is_edited and not stored.held_before:
        return ""
    rule = stored.held_before[0].rule if stored.held_before else stored.rule
    return f"by rule {rule}" if rule else "because no rule lets it run"


def _brought(vote: Review, shown: Evidence) -> str:
    """What an edit brought: which version, another rule, and the votes that it made void."""
    if vote.verdict != "edit":
        return ""
    stored, before = shown.requirement, shown.requirement.rule_of(vote.version - 1)
    after = stored.rule_of(vote.version)
    after = stored.rule if after is None else after
    void = [
        one.name for one in shown.votes if (one.version, one.voided_because) == (vote.version - 1, EDITED)
    ]
    told = edit_brings(after if before is None else before, after, void)
    return f", version {vote.version}" + "".join(f"; {one}" for one in told)


def _how_closed(row: ReviewRequest) -> str:
    if row.edited_by_name not in ("", row.decided_by_name):
        return f"approved {row.edited_by_name}’s version {row.version}"
    return row.state.replace("_", " ")
