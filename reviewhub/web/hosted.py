"""A person starts a run of an agent that runs here."""

from __future__ import annotations

import json

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from reviewhub_agents import canonical
from reviewhub_agents.runtime import GraphError

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Invalid
from reviewhub.core.limits import parse_sent
from reviewhub.hosting.graphs import example_of
from reviewhub.hosting.start import start
from reviewhub.web.access import actor, page
from reviewhub.web.agents import find
from reviewhub.web.forms import text_in, words
from reviewhub.web.render import show


def _again(request: HttpRequest, caller: MemberCaller, agent: Agent, error: Invalid) -> HttpResponse:
    given = {name: request.POST.get(name, "") for name in ("title", "environment", "input")}
    return _page(request, caller, agent, given, errors=words(error), status=error.status)


@page(Action.RUN_START, of=find, again=_again)
def run(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """The form, and what it starts."""
    if request.method != "POST":
        given = {"title": "", "environment": "production", "input": _example(agent)}
        return _page(request, caller, agent, given)
    try:
        tree = parse_sent((text_in(request, "input") or "{}").encode())
    except canonical.BadJson as error:
        raise Invalid.at("/input", f"The input is no JSON: {error}") from error
    made = start(
        agent=agent,
        given=tree,
        actor=actor(request, caller),
        started_by=caller.member,
        title=text_in(request, "title"),
        environment=text_in(request, "environment") or "production",
    )
    messages.success(request, f"{agent.name} is at work.")
    return redirect(f"/{caller.member.workspace.slug}/runs/{made.pk}")


def _example(agent: Agent) -> str:
    try:
        text = example_of(agent.graph)
    except (Invalid, GraphError):
        return "{}"
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)


def _page(
    request: HttpRequest,
    caller: MemberCaller,
    agent: Agent,
    given: dict[str, str],
    *,
    errors: object = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "agent": agent,
        "given": given,
        "errors": errors,
        "is_hosted": agent.runner == Agent.Runner.HOSTED,
        "is_known": agent.graph in settings.HOSTED_GRAPHS,
    }
    return show(request, caller, "web/agent_run.html", context, nav="agents", status=status)
