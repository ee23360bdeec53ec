"""Agents and their keys."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.make_agent import make_agent
from reviewhub.accounts.models import Agent, AgentKey, Team
from reviewhub.accounts.permissions import Action, MemberCaller, Target, roles_for, scope_of
from reviewhub.accounts.queries import agent_target, agents_of, deciders_of
from reviewhub.accounts.revoke_key import revoke_key
from reviewhub.accounts.rotate_key import rotate_key
from reviewhub.accounts.set_validation import set_validation
from reviewhub.checkpoints.queries import listed_schemas
from reviewhub.core.errors import Conflict, Invalid, NotFound, ReviewHubError
from reviewhub.core.rows import one_or_none
from reviewhub.gates.start import start as start_agent
from reviewhub.gates.stop import stop as stop_agent
from reviewhub.hosting.adopt import adopt
from reviewhub.policies.give_agent import Frees, give_agent, give_key
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in, words
from reviewhub.web.progress import DAYS, told_of_agents
from reviewhub.web.render import may, show

# What becomes of a state that does not fit, by the mode that an admin sets: as a choice, and once it is set.
MODES = {
    "strict": "is refused (strict)",
    "warn": "is saved and named (warn)",
    "off": "is not looked for (off)",
}
SAID = {
    "strict": "states that do not fit their schema are refused, and so are states without one.",
    "warn": "states that do not fit their schema are saved, and it is said.",
    "off": "states are not compared with their schemas.",
}


@require_safe
@page(Action.AGENTS_READ)
def agents(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The agents that the caller may see, with their keys; a key's text is never here."""
    return _page(request, caller)


def _page(
    request: HttpRequest,
    caller: MemberCaller,
    *,
    shown: dict[str, str] | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    many = deciders_of(caller.workspace_id)
    teams = Team.objects.filter(workspace_id=caller.workspace_id).order_by("name")
    found = list(
        agents_of(scope_of(caller))
        .select_related("team", "owner__person")
        .prefetch_related("keys", Prefetch("state_schemas", listed_schemas()))
    )
    told = told_of_agents(found)
    context = {
        "agents": [(agent, told.get(agent.pk)) for agent in found],
        "days": DAYS,
        "teams": [(team, many[team.pk]) for team in teams],
        "deserted": {pk for pk, deciders in many.items() if not deciders},
        "may_edit": may(caller, Action.AGENTS_EDIT),
        "may_stop": may(caller, Action.AGENTS_STOP),
        "startable": _startable(caller),
        "graphs": sorted(settings.HOSTED_GRAPHS),
        "modes": list(MODES.items()),
        "shown": shown,
        "given": {},
        **more,
    }
    return show(request, caller, "web/agents.html", context, nav="agents", status=status)


def _startable(caller: MemberCaller) -> frozenset[uuid.UUID]:
    """Teams whose hosted agents this person may start."""
    return caller.team_ids if caller.member.role in roles_for(Action.RUN_START) else frozenset()


def _again(request: HttpRequest, caller: MemberCaller, error: ReviewHubError) -> HttpResponse:
    return _page(request, caller, errors=words(error), given=request.POST, status=error.status)


def _again_of(
    request: HttpRequest, caller: MemberCaller, agent: Agent, error: ReviewHubError
) -> HttpResponse:
    return _page(request, caller, errors=words(error), of=agent.pk, typed=request.POST, status=error.status)


def _frees(
    request: HttpRequest,
    caller: MemberCaller,
    agent: Agent,
    error: Frees,
    what: str,
    where: str,
    given: dict[str, str],
) -> HttpResponse:
    """What a change frees, before it is made; the form sends the same once more, with what was seen."""
    tools: dict[str, list[str]] = {}
    for one in error.found:
        tools.setdefault(one.says, []).append(one.tool)
    seen = {"of": agent, "what": what, "where": where, "found": sorted(tools.items())}
    fields = given | {"sure": str(error.extra["sure"])}
    return _page(request, caller, frees=seen, fields=fields, status=error.status)


@posted
@page(Action.AGENTS_EDIT, again=_again)
def new(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Registers an agent of a team."""
    given = request.POST
    try:
        made = _made(request, caller, team=_team(caller, given.get("team", "")), graph=given.get("graph", ""))
    except Conflict as error:
        return _again(request, caller, error)
    next_ = "Start a run of it." if made.graph else "Make a key for it."
    messages.success(request, f"{made.name} is registered. {next_}")
    if not deciders_of(caller.workspace_id)[made.team_id]:
        messages.warning(request, f"Nobody in {made.team.name} can decide yet what it asks: add a reviewer.")
    return redirect(f"/{caller.member.workspace.slug}/agents#{made.pk}")


def _made(request: HttpRequest, caller: MemberCaller, *, team: Team, graph: str) -> Agent:
    name, who = request.POST.get("name", ""), actor(request, caller)
    if graph:
        return adopt(team=team, graph=graph, name=name.strip(), owner=caller.member, actor=who)
    about = request.POST.get("description", "")
    return make_agent(team=team, name=name, description=about, owner=caller.member, actor=who)


def find(caller: MemberCaller, agent_id: uuid.UUID) -> tuple[Agent, Target]:
    """An agent of the workspace."""
    row = (
        Agent.objects.select_related("team", "workspace")
        .filter(pk=agent_id, workspace_id=caller.workspace_id)
        .first()
    )
    if row is None:
        raise NotFound
    return row, agent_target(row)


@posted
@page(Action.AGENTS_EDIT, of=find, again=_again_of)
def new_key(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """A key, shown here and kept nowhere."""
    name, environment = request.POST.get("name", ""), request.POST.get("environment", "")
    try:
        made = give_key(
            agent=agent,
            name=name,
            environment=environment,
            sure=request.POST.get("sure", ""),
            actor=actor(request, caller),
            made_by=caller.member,
        )
    except Frees as error:
        what = f"By a key for {environment} policy asks less of {agent.name}"
        return _frees(request, caller, agent, error, what, "keys", {"name": name, "environment": environment})
    return _page(request, caller, shown={"agent": agent.name, "key": made.text})


@posted
@page(Action.AGENTS_STOP, of=find, again=_again_of)
def stop(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """Stops an agent: its open runs are cancelled, its keys only read, poll and report from now on."""
    reason = text_in(request, "reason")
    if not reason:
        raise Invalid("Say why the agent is stopped.")
    many = stop_agent(agent_id=agent.pk, reason=reason, actor=actor(request, caller))
    runs = "1 run is" if many == 1 else f"{many} runs are"
    messages.warning(request, f"{agent.name} is stopped. {runs} cancelled.")
    return redirect(f"/{caller.member.workspace.slug}/agents")


@posted
@page(Action.AGENTS_STOP, of=find)
def start(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """Lets a stopped agent work again; what was cancelled stays so."""
    start_agent(agent_id=agent.pk, actor=actor(request, caller))
    messages.success(request, f"{agent.name} may work again. Runs that were cancelled stay cancelled.")
    return redirect(f"/{caller.member.workspace.slug}/agents#{agent.pk}")


@posted
@page(Action.AGENTS_EDIT, of=find, again=_again_of)
def move(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """Gives an agent to another team."""
    team = _team(caller, request.POST.get("team", ""))
    try:
        moved = give_agent(
            agent=agent, team=team, sure=request.POST.get("sure", ""), actor=actor(request, caller)
        )
    except Frees as error:
        what = f"In {team.name} policy asks less of {agent.name}"
        return _frees(request, caller, agent, error, what, "team", {"team": str(team.pk)})
    except Conflict as error:
        return _again_of(request, caller, agent, error)
    messages.success(request, f"{moved.name} belongs to {moved.team.name} now.")
    return redirect(f"/{caller.member.workspace.slug}/agents#{agent.pk}")


@posted
@page(Action.AGENTS_EDIT, of=find, again=_again_of)
def states(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """Says what becomes of states that are not what their schemas say."""
    mode = request.POST.get("validation", "")
    made = set_validation(agent=agent, mode=mode, actor=actor(request, caller))
    messages.success(request, f"{made.name}: {SAID[made.state_validation]}")
    return redirect(f"/{caller.member.workspace.slug}/agents#{agent.pk}")


def find_key(caller: MemberCaller, key_id: uuid.UUID) -> tuple[AgentKey, Target]:
    """A key of an agent of the workspace."""
    row = one_or_none(
        AgentKey.objects.select_related("agent").filter(pk=key_id, workspace_id=caller.workspace_id)
    )
    if row is None:
        raise NotFound
    return row, agent_target(row.agent)


@posted
@page(Action.AGENTS_EDIT, of=find_key)
def rotate(request: HttpRequest, caller: MemberCaller, key: AgentKey) -> HttpResponse:
    """A new key in the place of this one, which ends."""
    try:
        made = rotate_key(key=key, actor=actor(request, caller), made_by=caller.member)
    except ReviewHubError as error:
        return _page(request, caller, errors=words(error), status=error.status)
    return _page(request, caller, shown={"agent": key.agent.name, "key": made.text})


@posted
@page(Action.AGENTS_EDIT, of=find_key)
def revoke(request: HttpRequest, caller: MemberCaller, key: AgentKey) -> HttpResponse:
    """Ends one key."""
    try:
        revoke_key(key=key, actor=actor(request, caller))
    except ReviewHubError as error:
        return _page(request, caller, errors=words(error), status=error.status)
    messages.success(request, f"The key {key.prefix}… is revoked.")
    return redirect(f"/{caller.member.workspace.slug}/agents")


def _team(caller: MemberCaller, text: str) -> Team:
    try:
        found = one_or_none(Team.objects.filter(pk=uuid.UUID(text), workspace_id=caller.workspace_id))
    except ValueError:
        found = None
    if found is None:
        raise Invalid.at("/team", "Choose a team.")
    return found
