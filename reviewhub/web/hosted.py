"""A person starts a run of an agent that runs here."""

from __future__ import annotations

import json
import uuid

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from reviewhub_agents import canonical, wire
from reviewhub_agents.runtime import GraphError

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Invalid
from reviewhub.core.idempotency import check_key
from reviewhub.core.limits import limits, parse_sent
from reviewhub.hosting.graphs import example_of
from reviewhub.hosting.start_once import start_once
from reviewhub.web.access import actor, page
from reviewhub.web.agents import find
from reviewhub.web.forms import text_in, words
from reviewhub.web.render import show


def _again(request: HttpRequest, caller: MemberCaller, agent: Agent, error: Invalid) -> HttpResponse:
    given = {name: request.POST.get(name, "") for name in ("title", "environment", "input")}
    return _page(request, caller, agent, given, errors=words(error), status=error.status)


@page(Action.RUN_START, of=find, again=_again, is_form=True)
def run(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """The form, and what it starts."""
    if request.method != "POST":
        given = {"title": "", "environment": "production", "input": _example(agent)}
        return _page(request, caller, agent, given)
    body = _body(request)
    made, _ = start_once(
        agent=agent,
        body=body,
        key=check_key(request.POST.get("key", "")),
        actor=actor(request, caller),
        started_by=caller.member,
    )
    messages.success(request, f"{agent.name} is at work.")
    return redirect(f"/{caller.member.workspace.slug}/runs/{made.pk}")


def _body(request: HttpRequest) -> wire.HostedStart:
    """What the form means. Raises Invalid."""
    try:
        tree = {
            "input": parse_sent((text_in(request, "input") or "{}").encode()),
            "title": text_in(request, "title"),
            "environment": text_in(request, "environment") or "production",
        }
        return wire.HostedStart.from_tree(tree, limits=limits())
    except canonical.BadJson as error:
        said = [f"{one['path'] or '/input'}: {one['message']}" for one in error.errors]
        raise Invalid("; ".join(said) or f"/input: {error}") from error


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
        "key": uuid.uuid4(),
        "errors": errors,
        "is_hosted": agent.runner == Agent.Runner.HOSTED,
        "is_known": agent.graph in settings.HOSTED_GRAPHS,
    }
    return show(request, caller, "web/agent_run.html", context, nav="agents", status=status)
