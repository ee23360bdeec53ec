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
from reviewhub.core.display.sentence import Part, faults, placeholders
from reviewhub.core.display.sentence import sentence as make_sentence
from reviewhub.core.errors import ReviewHubError
from reviewhub.limits.usage import Use, usage
from reviewhub.policies.coverage import Gate, gates, look_alikes
from reviewhub.standing.queries import counts_by_tool as standing_by_tool
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import Counted, arguments_of, counts_by_tool
from reviewhub.tools.models import Risk, Tool
from reviewhub.tools.placeholders import unknown_names
from reviewhub.tools.queries import Covered, coverage, tool_in
from reviewhub.tools.set_risk import set_risk
from reviewhub.tools.set_sentence import set_sentence
from reviewhub.tools.take_effect import take_effect
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import words
from reviewhub.web.render import may, show

MOST = 300
DAYS = 30
EXAMPLES = 3  # calls that a new sentence is tried on


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
    uses: list[tuple[int, Use]]
    """The limits that count its calls, each with its number and what is taken of it."""


def _lines(caller: MemberCaller, found: list[Covered]) -> list[Line]:
    tools = [one.tool for one in found]
    counted = counts_by_tool(caller.workspace_id, {tool.agent_id for tool in tools}, days=DAYS)
    alike, standing = look_alikes(tools), standing_by_tool(caller.workspace_id)
    gated = gates(caller.workspace_id, tools)
    limits = {limit.name: limit for gate in gated for _, limit in gate.limits}
    used = usage(scope_of(caller), list(limits.values()))
    return [
        Line(
            one,
            gate,
            counted.get((one.tool.agent_id, one.tool.name), Counted()),
            alike.get(one.tool.pk, ""),
            standing.get((one.tool.agent_id, one.tool.name), 0),
            [(position, used.of(limit, one.tool.agent_id)) for position, limit in gate.limits],
        )
        for one, gate in zip(found, gated, strict=True)
    ]


def find(caller: MemberCaller, tool_id: uuid.UUID) -> tuple[Tool, Target]:
    """A tool of the workspace."""
    row = tool_in(caller.workspace_id, tool_id)
    return row, agent_target(row.agent)


def _again(request: HttpRequest, caller: MemberCaller, tool: Tool, error: ReviewHubError) -> HttpResponse:
    errors = [f"{tool.name}: {each}" for each in words(error)]
    return _page(request, caller, errors=errors, of=tool.pk, typed=request.POST, status=error.status)


@dataclass(frozen=True)
class Example:
    """A sentence as it would read, of a call that was made."""

    parts: tuple[Part, ...]
    of: ToolCall


@require_safe
@page(Action.TOOLS_EDIT, of=find)
def sentence(request: HttpRequest, caller: MemberCaller, tool: Tool) -> HttpResponse:
    """How a sentence (`?sentence=`) would read for the last calls, and what is wrong with it; changes nothing."""
    context = _tried(tool, request.GET.get("sentence", ""))
    return show(request, caller, "web/_sentence.html", context)


def _tried(tool: Tool, template: str) -> dict[str, Any]:
    template = template.strip()
    errors = faults(template)
    if not errors and tool.schema:
        names = unknown_names(tool.schema, placeholders(template))
        errors = [f"Calls of this tool have no “{name}”." for name in names]
    return {"errors": errors, "examples": [] if errors else _examples(tool, template), "tool": tool}


def _examples(tool: Tool, template: str) -> list[Example]:
    """The words for the tool's last calls, as the server makes them for rows, pages, mails and the record."""
    calls = ToolCall.objects.filter(agent_id=tool.agent_id, tool_name=tool.name).order_by("-created_at")
    return [
        Example(
            make_sentence(
                tool=tool.name, arguments_text=arguments_of(call), template=template, schema=tool.schema
            ),
            call,
        )
        for call in calls[:EXAMPLES]
    ]


@posted
@page(Action.TOOLS_EDIT, of=find, again=_again)
def change(request: HttpRequest, caller: MemberCaller, tool: Tool) -> HttpResponse:
    """Sets sentence and risk, and takes the agent's word for a weaker effect, all or none of it; `try` shows how the
    sentence would read and sets nothing.
    """
    if request.POST.get("try"):
        tried = _tried(tool, request.POST.get("sentence", ""))
        return _page(request, caller, of=tool.pk, typed=request.POST, tried=tried)
    who = actor(request, caller)
    with transaction.atomic():
        set_sentence(tool=tool, sentence=request.POST.get("sentence", ""), actor=who)
        set_risk(tool=tool, risk=request.POST.get("risk", ""), actor=who)
        # What was read there is what is taken: the agent may have said something else meanwhile.
        if request.POST.get("effect") == tool.effect:
            take_effect(tool=tool, actor=who)
    messages.success(request, f"{tool.name} is changed, from the next call on.")
    if not tool.schema and (names := placeholders(request.POST.get("sentence", ""))):
        messages.warning(
            request, f"{tool.name} has no schema: nobody knows whether its calls have {names[0]}."
        )
    return redirect(f"/{caller.member.workspace.slug}/tools")
