"""The page that a day begins with: for each role what waits for it, and what it has to see to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from reviewhub.accounts.lent import lent_to
from reviewhub.accounts.models import Agent, AgentKey, Role, SavedView, Team
from reviewhub.accounts.permissions import Action, MemberCaller, scope_of
from reviewhub.accounts.queries import deciders_of
from reviewhub.audit.lag import lag
from reviewhub.core.clock import now
from reviewhub.reviews.filters import Filters, needs_of
from reviewhub.reviews.looks import handed_to, left_behind, suggested_rules, waiting_looks
from reviewhub.reviews.queries import listed, votes_today
from reviewhub.reviews.rows import Row
from reviewhub.tools.models import Tool
from reviewhub.web.access import page
from reviewhub.web.queue import used_up
from reviewhub.web.render import show
from reviewhub.web.saved import saved

SHOWN = 5


@dataclass(frozen=True)
class Lane:
    """A few rows of the queue, what they are, and where all of them are."""

    title: str
    query: str
    rows: list[Row]
    nothing: str = ""
    """Said where there are none; without it the lane is left out."""


@dataclass(frozen=True)
class Chore:
    """Something to see to: what it is, and the page where that is done."""

    text: str
    path: str


@page(Action.QUEUE_READ)
def home(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """A workspace's bare address leads to the start page."""
    return redirect(f"/{caller.member.workspace.slug}/start")


@page(Action.QUEUE_READ)
def start(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """What waits for the reader, by what their role is for."""
    at = now()
    lanes = [lane for lane in _lanes(caller, at) if lane.rows or lane.nothing]
    context: dict[str, Any] = {
        "lanes": lanes,
        "handed": list(handed_to(scope_of(caller), caller.member.pk)[:SHOWN]),
        "looks": waiting_looks(scope_of(caller)),
        "left_behind": list(left_behind(scope_of(caller))[:SHOWN]),
        "chores": _chores(caller) if caller.member.role == Role.ADMIN else [],
        "used_up": used_up(scope_of(caller)),
        "views": saved(caller, SavedView.Page.QUEUE, request.GET).counted,
        "lent": lent_to(caller.member),
        "today": votes_today(caller.member, at),
        "sealing": lag(caller.workspace_id).why if caller.member.role != Role.REVIEWER else "",
        "is_teamless": caller.is_teamless,
    }
    return show(request, caller, "web/start.html", context, nav="start")


def _lanes(caller: MemberCaller, at: datetime) -> list[Lane]:
    me, needs = caller.member.pk, needs_of(caller)
    decides = bool(needs.all_team_ids) or needs.is_manager
    lanes = [
        (
            "Needs you",
            "me=1",
            Filters(needs=needs, awake_for=me),
            "No request needs you now." if decides else "",
        ),
        ("Claimed by you", "mine=1", Filters(claimed_by=me), ""),
        ("You voted, and it waits for others", f"by={me}", Filters(voted_by=me), ""),
    ]
    if caller.member.role != Role.REVIEWER:
        lanes.append(("Overdue", "late=1", Filters(overdue=True), ""))
        lanes.append(
            (
                "Due first, and nobody has claimed it",
                "free=1",
                Filters(unclaimed=True, awake_for=me),
                "Nothing waits.",
            )
        )
    return [
        Lane(title, query, _rows(caller, filters, at), nothing) for title, query, filters, nothing in lanes
    ]


def _rows(caller: MemberCaller, filters: Filters, at: datetime) -> list[Row]:
    found = listed(scope_of(caller), filters=filters, limit=SHOWN)
    return [Row(row, at, caller) for row in found.rows]


def _chores(caller: MemberCaller) -> list[Chore]:
    """What an admin has to see to before others can do their part."""
    workspace = caller.workspace_id
    deciders = deciders_of(workspace)
    empty = Team.objects.filter(pk__in=[team for team, many in deciders.items() if not many]).order_by("name")
    works = AgentKey.objects.filter(agent=OuterRef("pk"), revoked_at=None)
    keyless = Agent.objects.filter(
        ~Exists(works), workspace_id=workspace, stopped_at=None, runner=Agent.Runner.POLL
    )
    tools = (
        Tool.objects.filter(workspace_id=workspace, registered_at=None)
        .order_by("name")
        .only("name", "registered_at")
    )
    return [
        *(
            Chore(f"Nobody in the team {team.name} can decide what it is asked.", "people")
            for team in empty[:SHOWN]
        ),
        *(
            Chore(f"The agent {agent.name} has no key that works.", "agents")
            for agent in keyless.order_by("name")[:SHOWN]
        ),
        *(
            Chore(f"Nobody described the tool {tool.name}: every call of it waits.", "tools")
            for tool in tools[:SHOWN]
            if not tool.is_registered
        ),
        *(
            Chore(
                f"After a flag {one.name} suggests a guardrail for the tool {one.post_review.tool_name}.",
                "policy/suggestions",
            )
            for one in suggested_rules(workspace)[:SHOWN]
        ),
    ]
