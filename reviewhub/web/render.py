"""A page inside the shell: the workspace, where one may go, and what waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from reviewhub.accounts.models import Workspace
from reviewhub.accounts.permissions import Action, MemberCaller, Target, allowed, scope_of
from reviewhub.core.clock import now
from reviewhub.reviews.looks import handed_count, look_count
from reviewhub.reviews.queries import pending_count


@dataclass(frozen=True)
class Item:
    """One line of the main navigation."""

    path: str
    name: str
    short: str
    icon: str
    action: Action
    key: str = ""
    """The letter that leads there after `g`."""


ITEMS = (
    Item("start", "Start", "Start", "home", Action.QUEUE_READ, "s"),
    Item("queue", "Queue", "Queue", "inbox", Action.QUEUE_READ, "q"),
    Item("runs", "Runs", "Runs", "branch", Action.QUEUE_READ, "r"),
    Item("post-review", "Post-review", "Afterwards", "glance", Action.POST_REVIEW_GRADE, "v"),
    Item("audit", "Audit log", "Audit", "log", Action.AUDIT_READ, "l"),
    Item("insights", "Insights", "Insights", "chart", Action.INSIGHTS_READ, "i"),
    Item("policy", "Policy", "Policy", "shield", Action.POLICY_READ, "p"),
    Item("tools", "Tools", "Tools", "tool", Action.TOOLS_READ),
    Item("agents", "Agents and keys", "Agents", "bot", Action.AGENTS_READ),
    Item("retention", "Retention", "Retention", "clock", Action.RETENTION_READ),
    Item("stand-ins", "Stand-ins", "Stand-ins", "hand", Action.VOTES_LEND),
    Item("people", "People and teams", "People", "users", Action.PEOPLE_READ),
)


@dataclass(frozen=True)
class Shell:
    """What stands around every page. `handed`: flagged actions that were handed on to the reader; `looks`: actions
    that wait for a look, for those who may."""

    items: list[Item]
    pending: str
    handed: str
    looks: str
    others: list[Workspace]


def show(
    request: HttpRequest,
    caller: MemberCaller,
    template: str,
    context: dict[str, Any],
    *,
    nav: str = "",
    status: int = 200,
) -> HttpResponse:
    """Renders `template` with `context` and the shell. Costs five small queries, whatever the page shows."""
    whole = {
        "workspace": caller.member.workspace,
        "member": caller.member,
        "nav": nav,
        "now": now(),
        "shell": shell(caller),
        **context,
    }
    return render(request, template, whole, status=status)


def may(caller: MemberCaller, action: Action) -> bool:
    """Whether the caller may do this to what belongs to the whole workspace; pages hide what they may not."""
    return allowed(caller, action, Target(workspace_id=caller.workspace_id))


def shell(caller: MemberCaller) -> Shell:
    """Navigation, narrowed to what the caller may see."""
    others = Workspace.objects.filter(members__person=caller.member.person, members__is_active=True)
    return Shell(
        items=[item for item in ITEMS if may(caller, item.action)],
        pending=pending_count(scope_of(caller), awake_for=caller.member.pk),
        handed=handed_count(scope_of(caller), caller.member.pk),
        looks=look_count(scope_of(caller)) if may(caller, Action.POST_REVIEW_GRADE) else "0",
        others=list(others.exclude(pk=caller.workspace_id).order_by("name")[:20]),
    )
