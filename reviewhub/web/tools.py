"""The tools that agents may call: their sentence and their risk, which are the admins'."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.permissions import Action, MemberCaller, Target, scope_of
from reviewhub.accounts.queries import agent_target
from reviewhub.core.display.sentence import placeholders
from reviewhub.core.errors import ReviewHubError
from reviewhub.policies.coverage import Gate, gates, look_alikes
from reviewhub.standing.queries import counts_by_tool as standing_by_tool
from reviewhub.toolcalls.queries import Counted, counts_by_tool
from reviewhub.tools.models import Risk, Tool
from reviewhub.tools.queries import Covered, coverage, tool_in
from reviewhub.tools.set_risk import set_risk
from reviewhub.tools.set_sentence import set_sentence
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import words
from reviewhub.web.render import may, show

MOST = 300
DAYS = 30


@require_safe
@page(Action.TOOLS_READ)
def tools(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Every tool that was described or seen, of the agents that the caller may see."""
    return _page(request, caller)


def _page(request: HttpRequest, caller: MemberCaller, *, status: int = 200, **more: Any) -> HttpResponse:
    search = request.GET.get("q", "")[:200].strip()
    found = coverage(scope_of(caller), search=search)
    context = {
        "lines": _lines(caller, found[:MOST]),
        "days": DAYS,
        "left_out": max(0, len(found) - MOST),
        "search": search,
        "risks": Risk.values,
        "may_edit": may(caller, Action.TOOLS_EDIT),
        **more,
    }
    return show(request, caller, "web/tools.html", context, nav="tools", status=status)


@dataclass(frozen=True)
class Line:
    """One tool with its gate and what became of its calls lately."""

    covered: Covered
    gate: Gate
    counted: Counted
    reads_like: str
    standing: int
    """How many standing approvals let some of its calls run."""


def _lines(caller: MemberCaller, found: list[Covered]) -> list[Line]:
    tools = [one.tool for one in found]
    counted = counts_by_tool(caller.workspace_id, {tool.agent_id for tool in tools}, days=DAYS)
    alike, standing = look_alikes(tools), standing_by_tool(caller.workspace_id)
    return [
        Line(
            one,
            gate,
            counted.get((one.tool.agent_id, one.tool.name), Counted()),
            alike.get(one.tool.pk, ""),
            standing.get((one.tool.agent_id, one.tool.name), 0),
        )
        for one, gate in zip(found, gates(caller.workspace_id, tools), strict=True)
    ]


def find(caller: MemberCaller, tool_id: uuid.UUID) -> tuple[Tool, Target]:
    """A tool of the workspace."""
    row = tool_in(caller.workspace_id, tool_id)
    return row, agent_target(row.agent)


def _again(request: HttpRequest, caller: MemberCaller, tool: Tool, error: ReviewHubError) -> HttpResponse:
    errors = [f"{tool.name}: {each}" for each in words(error)]
    return _page(request, caller, errors=errors, of=tool.pk, typed=request.POST, status=error.status)


@posted
@page(Action.TOOLS_EDIT, of=find, again=_again)
def change(request: HttpRequest, caller: MemberCaller, tool: Tool) -> HttpResponse:
    """Sets sentence and risk, both or neither."""
    who = actor(request, caller)
    with transaction.atomic():
        set_sentence(tool=tool, sentence=request.POST.get("sentence", ""), actor=who)
        set_risk(tool=tool, risk=request.POST.get("risk", ""), actor=who)
    messages.success(request, f"{tool.name} is changed, from the next call on.")
    if not tool.schema and (names := placeholders(request.POST.get("sentence", ""))):
        messages.warning(
            request, f"{tool.name} has no schema: nobody knows whether its calls have {names[0]}."
        )
    return redirect(f"/{caller.member.workspace.slug}/tools")
