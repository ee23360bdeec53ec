"""The policy editor: a form that holds the whole draft, and what its buttons do. Works without script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from reviewhub_agents import canonical
from reviewhub_agents.canonical import BadJson

from reviewhub.accounts.models import Agent, Team
from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.core.rows import one_or_none
from reviewhub.gates.explain import explain_facts
from reviewhub.policies.cautions import all_cautions
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.explain import Explained
from reviewhub.policies.facts import call_facts
from reviewhub.policies.models import PolicyDraft, PolicyVersion
from reviewhub.policies.newly_known import newly_known
from reviewhub.policies.publish import Changed, checked
from reviewhub.policies.publish import publish as publish_policy
from reviewhub.policies.queries import current, version
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import Policy
from reviewhub.policies.save_draft import save_draft
from reviewhub.tools.models import Tool
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in
from reviewhub.web.policy import in_words, number_in
from reviewhub.web.policy_conditions import TESTS
from reviewhub.web.policy_faults import Fault, at_field, faults
from reviewhub.web.policy_form import ACTIONS, VERDICT_WORDS, Draft, focus_after, press, read
from reviewhub.web.render import may, show

MOST_OFFERED = 300
"""Names of tools that a field offers."""


@dataclass(kw_only=True)
class _Sheet:
    """What the editor shows: the draft as it was filled in, and what became of the button that was pressed."""

    draft: Draft
    base: int
    note: str = ""
    found: list[Fault] = field(default_factory=list)
    conflict: PolicyVersion | None = None
    button: str = ""
    started_from: UUID | None = None
    """The draft that it was opened from, which saving replaces; any other is replaced only by a tick."""
    status: int = 200


def _again(request: HttpRequest, caller: MemberCaller, error: Invalid) -> HttpResponse:
    sheet = _sent(request)
    sheet.found, sheet.status = faults(sheet.draft.told(error), sheet.draft.name_of), error.status
    return _editor(request, caller, sheet)


@page(Action.POLICY_EDIT, again=_again, is_form=True)
def edit(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The editor. By GET from a published version; by POST with the draft and the button that was pressed."""
    latest = current(caller.workspace_id)
    if request.method != "POST":
        source = _source(request, caller, latest)
        written = Draft.of(parse_policy(source.rules)) if source else Draft([], [])
        base = source.base if isinstance(source, PolicyDraft) else latest.number if latest else 0
        looked = "look" if request.GET.get("check") else ""
        started = source.pk if isinstance(source, PolicyDraft) else None
        sheet = _Sheet(draft=written, base=base, button=looked, started_from=started)
        return _editor(request, caller, sheet)
    if request.POST.get("do") == "save":
        return _save(request, caller)
    sheet = _sent(request)
    sheet.draft = press(sheet.draft, sheet.button)
    return _editor(request, caller, sheet)


@posted
@page(Action.POLICY_EDIT, again=_again)
def publish(request: HttpRequest, caller: MemberCaller) -> HttpResponseBase:
    """Puts the draft in force; anything wrong with it brings the editor back, with the draft."""
    given = request.POST
    if given.get("do", "publish") != "publish":
        return edit(request, slug=caller.member.workspace.slug)
    sheet = _sent(request)
    try:
        made = publish_policy(
            workspace=caller.member.workspace,
            rules_text=sheet.draft.text(),
            note=given.get("note", "").strip(),
            base=number_in(given.get("on_top", "")) or sheet.base,
            actor=actor(request, caller),
        )
    except Changed as error:
        return _refused(request, caller, sheet, error, conflict=current(caller.workspace_id))
    except Conflict as error:
        return _refused(request, caller, sheet, error)
    messages.success(request, f"Policy v{made.number} is in force.")
    return redirect(f"/{caller.member.workspace.slug}/policy")


def _sent(request: HttpRequest) -> _Sheet:
    given = request.POST
    return _Sheet(
        draft=read(given, given.getlist),
        base=number_in(given.get("base", "0")),
        note=given.get("note", ""),
        button=given.get("do", ""),
        started_from=_id(given.get("draft", "")),
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


def _save(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    sheet = _sent(request)
    try:
        save_draft(
            workspace=caller.member.workspace,
            rules_text=sheet.draft.text(),
            note=text_in(request, "note"),
            replaces=_id(request.POST.get("replaces", "")) or sheet.started_from,
            base=sheet.base,
            actor=actor(request, caller),
        )
    except Conflict as error:
        return _refused(request, caller, sheet, error)
    return redirect(f"/{caller.member.workspace.slug}/policy/draft")


def _refused(
    request: HttpRequest,
    caller: MemberCaller,
    sheet: _Sheet,
    error: Conflict,
    conflict: PolicyVersion | None = None,
) -> HttpResponse:
    sheet.found, sheet.status, sheet.conflict = [Fault(error.message, error.message)], error.status, conflict
    return _editor(request, caller, sheet)


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _editor(request: HttpRequest, caller: MemberCaller, sheet: _Sheet) -> HttpResponse:
    workspace, draft = caller.workspace_id, sheet.draft
    latest = current(workspace)
    before = parse_policy(latest.rules) if latest else Policy()
    tools = Tool.objects.filter(workspace_id=workspace).order_by("name").values_list("name", flat=True)
    there = open_draft(workspace)
    context: dict[str, Any] = {
        "draft": draft,
        "tests": TESTS,
        "may_guard": may(caller, Action.GUARDRAILS_EDIT),
        "base": sheet.base,
        "number": latest.number if latest else 0,
        "note": sheet.note,
        "is_draft": request.method == "POST",
        "actions": ACTIONS,
        "verdicts": VERDICT_WORDS,
        "teams": _offered(Team.objects.filter(workspace_id=workspace), draft.teams),
        "agents": _offered(Agent.objects.filter(workspace_id=workspace), draft.agents),
        "counted": {limit.name for limit in before.limits},
        "tools": tools.distinct()[:MOST_OFFERED],
        "cautions": [],
        "given": request.POST,
        "open_draft": there,
        "started_from": sheet.started_from if there else None,
        "would_replace": there if there is not None and there.pk != sheet.started_from else None,
        "focus": focus_after(draft, sheet.button),
    }
    context |= _looked_at(request, caller, sheet, before)
    found = sheet.found or context.pop("found", [])
    unchanged = Draft.of(before)
    context |= {
        "faults": found,
        "wrong": at_field(found),
        "open": {fault.card for fault in found} | draft.differing(unchanged),
        "conflict": _conflict(sheet),
    }
    return show(request, caller, "web/policy_edit.html", context, nav="policy", status=sheet.status)


@dataclass(frozen=True)
class _Offered:
    """A name that a field offers; one that the draft says stays one, whether there is such a thing or not."""

    name: str
    is_gone: bool = False


def _offered(rows: QuerySet[Any], said: set[str]) -> list[_Offered]:
    there = set(rows.values_list("name", flat=True))
    return [_Offered(name, name not in there) for name in sorted(there | said)]


def _looked_at(request: HttpRequest, caller: MemberCaller, sheet: _Sheet, before: Policy) -> dict[str, Any]:
    """What is found out about the draft: its faults, what it changes, and what it says to a call that is tried."""
    context: dict[str, Any] = {}
    workspace, is_asked = caller.member.workspace, sheet.button in ("check", "try", "look")
    try:
        if is_asked:
            checked(sheet.draft.text(), workspace)
        written = parse_policy(sheet.draft.text())
        context["cautions"] = all_cautions(written, workspace.pk)
        context["newly_known"] = newly_known(written, workspace.pk)
        context["asks_for_step"] = written.asks_for_plan_step
        if request.method == "POST":
            context["changes"] = in_words(before, written)
        if sheet.button == "try":
            context["trial"] = _trial(request, caller, sheet.draft.text())
        if is_asked:
            context["is_fine"] = sheet.button != "try"
    except Invalid as error:
        context["found"] = faults(sheet.draft.told(error), sheet.draft.name_of) if is_asked else []
    return context


def _conflict(sheet: _Sheet) -> dict[str, Any] | None:
    """The version that somebody published meanwhile, and what it changed against the one that this draft is made
    from."""
    if sheet.conflict is None:
        return None
    then = Policy()
    if sheet.base:
        then = parse_policy(version(sheet.conflict.workspace_id, sheet.base).rules)
    return {
        "number": sheet.conflict.number,
        "changes": in_words(then, parse_policy(sheet.conflict.rules)),
    }


def _trial(request: HttpRequest, caller: MemberCaller, rules_text: str) -> Explained:
    """What the draft would say to one sample call."""
    given = request.POST
    agent = one_or_none(
        Agent.objects.filter(workspace_id=caller.workspace_id, name=given.get("try-agent", ""))
    )
    if agent is None:
        raise Invalid.at("/try-agent", "Choose an agent to try it with.")
    name = given.get("try-tool", "").strip()
    tool = Tool.objects.filter(agent=agent, name=name).first() or Tool(agent=agent, name=name or "unknown")
    try:
        text = canonical.canonical(given.get("try-arguments", "").strip() or "{}")
    except BadJson as error:
        raise Invalid.at(
            "/try-arguments", f"The arguments are not JSON: {error.errors[0]['message']}"
        ) from error
    return explain_facts(
        workspace_id=caller.workspace_id,
        agent=agent,
        environment=given.get("try-environment", "").strip() or "production",
        facts=call_facts(tool=tool, arguments=text, plan_step=given.get("try-step", "").strip()).facts,
        rules_text=rules_text,
    )
