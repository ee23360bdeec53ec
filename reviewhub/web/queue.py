"""The queue: what waits, in the order of its deadlines."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict

from reviewhub.accounts.models import SavedView, Team
from reviewhub.accounts.permissions import Action, MemberCaller, Scope, scope_of
from reviewhub.accounts.queries import agents_of
from reviewhub.core.clock import now
from reviewhub.reviews.filters import MOST_VALUES, Filters, filters_of
from reviewhub.reviews.look import lookers
from reviewhub.reviews.queries import listed, names_in_queue, newest_event, runs_visible, votes_today
from reviewhub.reviews.rows import Row, groups
from reviewhub.runs.models import Halt
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.tools.models import Risk
from reviewhub.tools.queries import tools_of
from reviewhub.web.access import page
from reviewhub.web.render import show
from reviewhub.web.saved import saved, way_back

LIMITS = (50, 25, 100)


@dataclass(frozen=True)
class Drop:
    """One filter menu."""

    label: str
    name: str
    options: list[tuple[str, bool]]

    @property
    def picked(self) -> str:
        """The ticked options as words."""
        return ", ".join(value for value, is_on in self.options if is_on)


@page(Action.QUEUE_READ)
def queue(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """One page of the queue with its filters. The number of queries does not depend on the rows."""
    scope = scope_of(caller)
    filters = filters_of(dict(request.GET.lists()), caller=caller)
    limit = int(request.GET["limit"]) if request.GET.get("limit") in {"25", "50", "100"} else LIMITS[0]
    since = newest_event(
        caller.workspace_id
    )  # before the rows: what comes between is told twice, never missed
    found = listed(scope, filters=filters, cursor=request.GET.get("cursor", ""), limit=limit)
    at = now()
    looks = lookers([one.pk for one in found.rows], but=caller.member)
    grouped = groups([Row(one, at, caller, looks.get(one.pk, ())) for one in found.rows])
    rows = [row for group in grouped for row in group.rows]  # as they stand on the page
    context = {
        "groups": grouped,
        "rows": rows,
        "first": rows[0] if rows else None,
        "may_decide": any(row.can_pick for row in rows),
        "filters": filters,
        "drops": _drops(caller, filters),
        "saved": saved(caller, SavedView.Page.QUEUE, request.GET),
        "until": found.next,
        "back": way_back(dict(request.GET.lists())),
        "more": _with(request.GET, cursor=found.next) if found.next else "",
        "is_first_page": not request.GET.get("cursor"),
        "is_teamless": caller.is_teamless,
        "used_up": used_up(scope),
        "today": 0 if rows else votes_today(caller.member, at),
        "since": since,
        "is_live": filters.state == "pending",
    }
    return show(request, caller, "web/queue.html", context, nav="queue")


def used_up(scope: Scope) -> list[Halt]:
    """Halts that limits made, of runs that the reader may see, the oldest first; they wait for people, too."""
    limits = [Halt.Kind.SPEND, Halt.Kind.TIME]
    open_ = Halt.objects.filter(workspace_id=scope.workspace_id, ended_at=None, kind__in=limits)
    seen = open_.filter(branch__run__in=runs_visible(scope), branch__state__in=OPEN_BRANCH)
    return list(seen.select_related("branch__run").order_by("began_at")[:5])


def _drops(caller: MemberCaller, filters: Filters) -> list[Drop]:
    scope = scope_of(caller)
    teams = (
        Team.objects.filter(workspace_id=scope.workspace_id).order_by("name").values_list("name", flat=True)
    )
    own_agents = agents_of(scope).values_list("name", flat=True)
    own_tools = tools_of(scope).order_by("name").values_list("name", flat=True).distinct()
    asked = names_in_queue(scope)
    agents = sorted({*own_agents, *(agent for agent, _ in asked)})
    tools = sorted({*own_tools, *(tool for _, tool in asked)})
    return [
        Drop("Team", "team", [(name, name in filters.teams) for name in teams[:MOST_VALUES]]),
        Drop("Risk", "risk", [(value, value in filters.risks) for value in reversed(Risk.values)]),
        Drop("Tool", "tool", [(name, name in filters.tools) for name in tools[:MOST_VALUES]]),
        Drop("Agent", "agent", [(name, name in filters.agents) for name in agents[:MOST_VALUES]]),
    ]


def _with(given: QueryDict, **changes: str) -> str:
    pairs = [(name, value) for name, values in given.lists() if name not in changes for value in values]
    return urlencode([*pairs, *changes.items()])
