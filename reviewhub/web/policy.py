"""The policy page: the rules in force, their history, and the editor."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from reviewhub_agents import canonical
from reviewhub_agents.canonical import BadJson

from reviewhub.accounts.models import Agent, Team
from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Conflict, Invalid, NotFound, ReviewHubError
from reviewhub.gates.explain import explain_facts
from reviewhub.policies.cautions import all_cautions
from reviewhub.policies.check_conditions import check_conditions
from reviewhub.policies.difference import Change, difference
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.explain import Explained
from reviewhub.policies.facts import call_facts
from reviewhub.policies.file_state import file_state
from reviewhub.policies.models import PolicyDraft, PolicyVersion
from reviewhub.policies.places import place_words
from reviewhub.policies.publish import publish as publish_policy
from reviewhub.policies.queries import current, history, version
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.roll_back import roll_back as roll_back_to
from reviewhub.policies.rules import Policy
from reviewhub.policies.save_draft import save_draft
from reviewhub.tools.models import Tool
from reviewhub.web.access import actor, page
from reviewhub.web.forms import text_in, words
from reviewhub.web.policy_conditions import TESTS
from reviewhub.web.policy_form import (
    ACTIONS,
    VERDICT_WORDS,
    Draft,
    field_words,
    press,
    read,
)
from reviewhub.web.render import may, show

_FIELD = re.compile(r"/([rglw])(\d{1,3})-(.*)")
_LAYERS = {"r": "rules", "g": "guardrails", "l": "limits", "w": "waiting"}


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
        "limits": rules.limits,
        "waiting": rules.waiting,
        "history": history(caller.workspace_id).rows,
        "changes": _changes(found, against) if found else [],
        "against": against,
        "number": latest.number if latest else 0,
        "open_draft": open_draft(caller.workspace_id) if may_edit else None,
        "cautions": all_cautions(rules, caller.workspace_id) if is_live and may_edit else [],
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
    return in_words(difference(parse_policy(before.rules), parse_policy(found.rules)))


def in_words(changes: list[Change]) -> list[tuple[Change, list[str]]]:
    """Each change with its fields in words."""
    return [(change, [field_words(one) for one in change.fields]) for change in changes]


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
        errors=words(error),
        note=request.POST.get("note", ""),
        status=error.status,
    )


@require_POST
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


def _again(request: HttpRequest, caller: MemberCaller, error: Invalid) -> HttpResponse:
    given = request.POST
    draft = read(given, given.getlist)
    if error.errors:
        errors = [f"{_place(each['path'], draft)}{each['message']}" for each in error.errors]
    else:
        errors = [error.message]
    base, note = number_in(given.get("base", "0")), given.get("note", "")
    return _editor(request, caller, draft, base=base, note=note, errors=errors, status=error.status)


@page(Action.POLICY_EDIT, again=_again)
def edit(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The editor. By GET from a published version; by POST with the draft and the button that was pressed."""
    latest = current(caller.workspace_id)
    if request.method != "POST":
        source = _source(request, caller, latest)
        return _editor(
            request,
            caller,
            Draft.of(parse_policy(source.rules)) if source else Draft([], []),
            base=_base(source, latest),
        )
    given = request.POST
    if given.get("do") == "save":
        return _save(request, caller)
    draft = press(read(given, given.getlist), given.get("do", ""))
    return _editor(
        request,
        caller,
        draft,
        base=number_in(given.get("base", "0")),
        note=given.get("note", ""),
        tried=given.get("do") == "try",
    )


def _source(
    request: HttpRequest, caller: MemberCaller, latest: PolicyVersion | None
) -> PolicyVersion | PolicyDraft | None:
    """What the editor starts from: the policy in force, a version (`?from=3`) or the draft (`?from=draft`)."""
    start = request.GET.get("from", "")
    if start == "draft":
        return open_draft(caller.workspace_id) or latest
    if number := number_in(start):
        return version(caller.workspace_id, number)
    return latest


def _base(source: PolicyVersion | PolicyDraft | None, latest: PolicyVersion | None) -> int:
    """What the editor's text is made from: an edited draft stays on its version, all else is for after the latest."""
    if isinstance(source, PolicyDraft):
        return source.base
    return latest.number if latest else 0


def _save(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    given = request.POST
    draft = read(given, given.getlist)
    try:
        save_draft(
            workspace=caller.member.workspace,
            rules_text=draft.text(),
            note=text_in(request, "note"),
            replaces=_id(given.get("draft", "")),
            base=number_in(given.get("base", "0")),
            actor=actor(request, caller),
        )
    except Conflict as error:
        base = number_in(given.get("base", "0"))
        note = given.get("note", "")
        return _editor(
            request, caller, draft, base=base, note=note, errors=[error.message], status=error.status
        )
    return redirect(f"/{caller.member.workspace.slug}/policy/draft")


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


@require_POST
@page(Action.POLICY_EDIT, again=_again)
def publish(request: HttpRequest, caller: MemberCaller) -> HttpResponseBase:
    """Puts the draft in force; anything wrong with it brings the editor back, with the draft."""
    given = request.POST
    if given.get("do", "publish") != "publish":
        return edit(request, slug=caller.member.workspace.slug)
    draft = read(given, given.getlist)
    number = number_in(given.get("base", "0"))
    try:
        made = publish_policy(
            workspace=caller.member.workspace,
            rules_text=draft.text(),
            note=given.get("note", "").strip(),
            base=number,
            actor=actor(request, caller),
        )
    except Conflict as error:
        return _editor(
            request,
            caller,
            draft,
            base=number,
            note=given.get("note", ""),
            errors=[error.message],
            status=409,
        )
    messages.success(request, f"Policy v{made.number} is in force.")
    return redirect(f"/{caller.member.workspace.slug}/policy")


def _editor(
    request: HttpRequest,
    caller: MemberCaller,
    draft: Draft,
    *,
    base: int,
    note: str = "",
    errors: list[str] | None = None,
    tried: bool = False,
    status: int = 200,
) -> HttpResponse:
    workspace = caller.workspace_id
    tools = (
        Tool.objects.filter(workspace_id=workspace).order_by("name").values_list("name", flat=True).distinct()
    )
    context: dict[str, Any] = {
        "draft": draft,
        "tests": TESTS,
        "may_guard": may(caller, Action.GUARDRAILS_EDIT),
        "base": base,
        "note": note,
        "is_draft": request.method == "POST",
        "errors": errors or [],
        "actions": ACTIONS,
        "verdicts": VERDICT_WORDS,
        "teams": Team.objects.filter(workspace_id=workspace).order_by("name"),
        "agents": Agent.objects.filter(workspace_id=workspace).order_by("name"),
        "tools": tools[:300],
        "cautions": [],
        "given": request.POST,
        "open_draft": open_draft(workspace),
        "from_draft": "draft" in (request.GET.get("from"), request.POST.get("from")),
    }
    try:
        written = parse_policy(draft.text())
        context["cautions"] = all_cautions(written, workspace)
        if tried:
            context["trial"] = _trial(request, caller, draft.text())
        if wrong := check_conditions(written, workspace):
            raise Invalid(wrong[0]["message"], errors=wrong)
    except Invalid as error:
        if not errors and request.POST.get("do") in ("check", "try"):
            context["errors"] = [f"{_place(each['path'], draft)}{each['message']}" for each in error.errors]
    return show(request, caller, "web/policy_edit.html", context, nav="policy", status=status)


def _trial(request: HttpRequest, caller: MemberCaller, rules_text: str) -> Explained | None:
    """What the draft would say to one sample call."""
    given = request.POST
    agent = Agent.objects.filter(workspace_id=caller.workspace_id, name=given.get("try-agent", "")).first()
    if agent is None:
        raise Invalid.at("/try", "Choose an agent to try it with.")
    name = given.get("try-tool", "").strip()
    tool = Tool.objects.filter(agent=agent, name=name).first() or Tool(agent=agent, name=name or "unknown")
    try:
        text = canonical.canonical(given.get("try-arguments", "").strip() or "{}")
    except BadJson as error:
        raise Invalid.at("/try", f"The arguments are not JSON: {error.errors[0]['message']}") from error
    return explain_facts(
        workspace_id=caller.workspace_id,
        agent=agent,
        environment=given.get("try-environment", "").strip() or "production",
        facts=call_facts(tool=tool, arguments=text).facts,
        rules_text=rules_text,
    )


def number_in(text: str) -> int:
    """The number of a version as a form names it; 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def _place(path: str, draft: Draft) -> str:
    """`/rules/2/tool`, or the form's `/r2-tool`, as `Rule 3 (Wires), tool: `."""
    path = _FIELD.sub(lambda found: f"/{_LAYERS[found[1]]}/{found[2]}/{found[3]}", path)
    return place_words(path, draft.name_of)
