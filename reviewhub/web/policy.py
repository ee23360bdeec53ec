"""The policy page: what is in force, what was, and the way back to it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Conflict, NotFound, ReviewHubError
from reviewhub.policies.cautions import all_cautions
from reviewhub.policies.difference import Change, difference
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.file_state import file_state
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.newly_known import newly_known
from reviewhub.policies.queries import current, history, version
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.roll_back import roll_back as roll_back_to
from reviewhub.policies.rules import Policy
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in
from reviewhub.web.limit_use import limit_lines, waiting_lines
from reviewhub.web.policy_faults import refusal
from reviewhub.web.policy_form import Draft, field_words
from reviewhub.web.render import may, show


@page(Action.POLICY_READ)
def policy(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """What is in force."""
    return _shown(request, caller, current(caller.workspace_id), is_live=True)


@page(Action.POLICY_READ)
def old_version(request: HttpRequest, caller: MemberCaller, number: int) -> HttpResponse:
    """One version as it was published, and what it changed."""
    latest = current(caller.workspace_id)
    found = version(caller.workspace_id, number)
    return _shown(request, caller, found, is_live=latest is not None and latest.number == number)


def _shown(
    request: HttpRequest,
    caller: MemberCaller,
    found: PolicyVersion | None,
    *,
    is_live: bool,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    rules = parse_policy(found.rules) if found else Policy()
    may_edit = may(caller, Action.POLICY_EDIT)
    latest = current(caller.workspace_id)
    against = number_in(request.GET.get("against", "")) or (found.number - 1 if found else 0)
    context = {
        "version": found,
        "rules": rules.rules,
        "guardrails": rules.guardrails,
        "limits": limit_lines(caller, rules.limits, is_live=is_live),
        "waiting": waiting_lines(caller, rules.waiting, is_live=is_live),
        "history": history(caller.workspace_id).rows,
        "changes": _changes(found, against) if found else [],
        "against": against,
        "number": latest.number if latest else 0,
        "open_draft": open_draft(caller.workspace_id) if may_edit else None,
        "cautions": all_cautions(rules, caller.workspace_id) if is_live and may_edit else [],
        "newly_known": newly_known(rules, caller.workspace_id) if may_edit and not is_live else [],
        "may_edit": may_edit,
        "is_live": is_live,
        "file": file_state(caller.member.workspace) if is_live and may_edit else None,
        **more,
    }
    return show(request, caller, "web/policy.html", context, nav="policy", status=status)


def _changes(found: PolicyVersion, against: int) -> list[tuple[Change, list[str]]]:
    """What differs in a version against another one, with the fields of each rule in words. Raises NotFound."""
    if against == 0:
        return []
    before = version(found.workspace_id, against)
    return in_words(parse_policy(before.rules), parse_policy(found.rules))


def in_words(before: Policy, after: Policy) -> list[tuple[Change, list[str]]]:
    """What leads from one policy to the other: each change with its fields in words, what is new with all it says."""
    said = dict(Draft.of(after).layers)
    return [
        (
            change,
            [field_words(one) for one in change.fields]
            or ([said[change.layer][change.position - 1].in_short] if change.kind == "added" else []),
        )
        for change in difference(before, after)
    ]


def _roll_again(request: HttpRequest, caller: MemberCaller, error: ReviewHubError) -> HttpResponse:
    try:
        found = version(caller.workspace_id, number_in(request.POST.get("number", "")))
    except NotFound:
        raise error from None
    return _shown(
        request,
        caller,
        found,
        is_live=False,
        **refusal(error, parse_policy(found.rules), f"edit?from={found.number}&check=yes"),
        note=request.POST.get("note", ""),
        status=error.status,
    )


@posted
@page(Action.POLICY_EDIT, again=_roll_again)
def roll_back(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Puts an older version in force again, as a new one."""
    try:
        made = roll_back_to(
            workspace=caller.member.workspace,
            number=number_in(request.POST.get("number", "")),
            note=text_in(request, "note"),
            base=number_in(request.POST.get("base", "")),
            actor=actor(request, caller),
        )
    except Conflict as error:
        return _roll_again(request, caller, error)
    messages.success(request, f"Policy v{made.number} is in force; it says what v{made.restores} said.")
    return redirect(f"/{caller.member.workspace.slug}/policy")


def number_in(text: str) -> int:
    """The number of a version as a form names it; 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0
