"""The policy page: the rules in force, their history, and the editor."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from reviewhub_agents import canonical
from reviewhub_agents.canonical import BadJson

from reviewhub.accounts.models import Agent, Team
from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.policies.explain import Explained, explain
from reviewhub.policies.facts import call_facts
from reviewhub.policies.publish import publish as publish_policy
from reviewhub.policies.queries import current, history, version
from reviewhub.policies.reading import Caution, cautions, parse_policy
from reviewhub.policies.rules import Policy
from reviewhub.tools.models import Tool
from reviewhub.web.access import actor, page
from reviewhub.web.policy_form import ACTIONS, VERDICTS, RuleForm, forms_of, press, read, text_of
from reviewhub.web.render import may, show


@page(Action.POLICY_READ)
def policy(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """What is in force."""
    latest = current(caller.workspace_id)
    context = {
        "version": latest,
        "rules": parse_policy(latest.rules).rules if latest else (),
        "history": history(caller.workspace_id).rows,
        "may_edit": may(caller, Action.POLICY_EDIT),
        "is_live": True,
    }
    return show(request, caller, "web/policy.html", context, nav="policy")


@page(Action.POLICY_READ)
def old_version(request: HttpRequest, caller: MemberCaller, number: int) -> HttpResponse:
    """One version as it was published."""
    found = version(caller.workspace_id, number)
    latest = current(caller.workspace_id)
    context = {
        "version": found,
        "rules": parse_policy(found.rules).rules,
        "history": history(caller.workspace_id).rows,
        "may_edit": may(caller, Action.POLICY_EDIT),
        "is_live": latest is not None and latest.number == number,
    }
    return show(request, caller, "web/policy.html", context, nav="policy")


@page(Action.POLICY_EDIT)
def edit(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The editor. By GET from a published version; by POST with the draft and the button that was pressed."""
    latest = current(caller.workspace_id)
    if request.method != "POST":
        start = request.GET.get("from", "")
        source = (
            version(caller.workspace_id, int(start))
            if start.isascii() and start.isdecimal() and len(start) < 9
            else latest
        )
        rules = forms_of(parse_policy(source.rules)) if source else []
        return _editor(request, caller, rules, base=latest.number if latest else 0)
    given = request.POST
    base = given.get("base", "0")
    rules = press(read(given, given.getlist), given.get("do", ""))
    return _editor(
        request,
        caller,
        rules,
        base=int(base) if base.isascii() and base.isdecimal() and len(base) < 9 else 0,
        note=given.get("note", ""),
        tried=given.get("do") == "try",
    )


@require_POST
@page(Action.POLICY_EDIT)
def publish(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Puts the draft in force; anything wrong with it brings the editor back, with the draft."""
    given = request.POST
    if given.get("do", "publish") != "publish":
        return edit(request, slug=caller.member.workspace.slug)
    rules = read(given, given.getlist)
    base = given.get("base", "0")
    number = int(base) if base.isascii() and base.isdecimal() and len(base) < 9 else 0
    try:
        made = publish_policy(
            workspace=caller.member.workspace,
            rules_text=text_of(rules),
            note=given.get("note", "").strip(),
            base=number,
            actor=actor(request, caller),
        )
    except Invalid as error:
        errors = [f"{_place(each['path'], rules)}{each['message']}" for each in error.errors] or [
            error.message
        ]
        return _editor(
            request, caller, rules, base=number, note=given.get("note", ""), errors=errors, status=422
        )
    except Conflict as error:
        return _editor(
            request,
            caller,
            rules,
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
    rules: list[RuleForm],
    *,
    base: int,
    note: str = "",
    errors: list[str] | None = None,
    tried: bool = False,
    status: int = 200,
) -> HttpResponse:
    workspace = caller.workspace_id
    tools = list(
        Tool.objects.filter(workspace_id=workspace).order_by("name").values_list("name", flat=True).distinct()
    )
    context: dict[str, Any] = {
        "rules": rules,
        "base": base,
        "note": note,
        "errors": errors or [],
        "actions": ACTIONS,
        "verdicts": VERDICTS,
        "teams": Team.objects.filter(workspace_id=workspace).order_by("name"),
        "agents": Agent.objects.filter(workspace_id=workspace).order_by("name"),
        "tools": tools[:300],
        "cautions": [],
        "given": request.POST,
    }
    try:
        draft = parse_policy(text_of(rules))
        context["cautions"] = _cautions(draft, tools)
        if tried:
            context["trial"] = _trial(request, caller, text_of(rules))
    except Invalid as error:
        if not errors and request.method == "POST":
            context["errors"] = [f"{_place(each['path'], rules)}{each['message']}" for each in error.errors]
    return show(request, caller, "web/policy_edit.html", context, nav="policy", status=status)


def _cautions(draft: Policy, tools: list[str]) -> list[Caution]:
    return cautions(draft, tools=tools)


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
    return explain(
        workspace_id=caller.workspace_id,
        agent=agent,
        environment=given.get("try-environment", "").strip() or "production",
        call=call_facts(tool=tool, arguments=text).facts,
        rules_text=rules_text,
    )


def _place(path: str, rules: list[RuleForm]) -> str:
    """`/rules/2/tool` as `Rule 3 (Wires), tool: `."""
    parts = path.split("/")
    if len(parts) < 3 or parts[1] != "rules" or not parts[2].isdecimal():
        return ""
    at = int(parts[2])
    name = f" ({rules[at].name})" if at < len(rules) and rules[at].name else ""
    rest = f", {' '.join(parts[3:]).replace('_', ' ')}" if len(parts) > 3 else ""
    return f"Rule {at + 1}{name}{rest}: "
