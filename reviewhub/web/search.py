"""Search everything: requests, runs, calls, tools, agents and people, each narrowed to what the reader may see."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from reviewhub.accounts.models import Agent, Member
from reviewhub.accounts.permissions import Action, MemberCaller, Scope, scope_of
from reviewhub.accounts.queries import agents_of, members_seen
from reviewhub.core.clock import now
from reviewhub.core.words import fold
from reviewhub.reviews.filters import Filters
from reviewhub.reviews.queries import listed, runs_visible
from reviewhub.reviews.rows import Row
from reviewhub.runs import queries as runs
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import unasked
from reviewhub.tools.models import Tool
from reviewhub.tools.queries import tools_of
from reviewhub.web.access import page
from reviewhub.web.render import may, show

MOST = 10


@dataclass(frozen=True)
class Hits:
    """What was found of each kind, MOST of each and the newest first."""

    requests: list[Row]
    runs: list[Run]
    calls: list[ToolCall]
    tools: list[Tool]
    agents: list[Agent]
    people: list[Member]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found at all."""
        return not any((self.requests, self.runs, self.calls, self.tools, self.agents, self.people))


@page(Action.QUEUE_READ)
def search(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """What the text of the address finds; without a text only the field."""
    text = request.GET.get("q", "")[:200].strip()
    context = {
        "text": text,
        "hits": _hits(caller, text) if text else None,
        "most": MOST,
        "may_audit": may(caller, Action.AUDIT_READ),
    }
    return show(request, caller, "web/search.html", context)


def _hits(caller: MemberCaller, text: str) -> Hits:
    scope, at = scope_of(caller), now()
    seen = runs_visible(scope)
    asked = listed(scope, filters=Filters(text=text, state="any"), limit=MOST)
    return Hits(
        requests=[Row(row, at, caller) for row in asked.rows],
        runs=runs.listed(seen, filters=runs.Filters(text=text), limit=MOST).rows,
        calls=unasked(seen, workspace_id=scope.workspace_id, text=text, most=MOST),
        tools=_tools(scope, text),
        agents=list(agents_of(scope).filter(folded__contains=fold(text))[:MOST]),
        people=_people(caller, text),
    )


def _tools(scope: Scope, text: str) -> list[Tool]:
    names = tools_of(scope).order_by("name").values_list("pk", "name")
    wanted = fold(text)
    found: list[uuid.UUID] = [pk for pk, name in names if wanted in fold(name)][:MOST]
    return list(Tool.objects.filter(pk__in=found).select_related("agent__team").order_by("name"))


def _people(caller: MemberCaller, text: str) -> list[Member]:
    """By name; by e-mail too for those who may read the list of people."""
    by_mail, wanted = may(caller, Action.PEOPLE_READ), fold(text)
    return [
        one
        for one in members_seen(caller)
        if wanted in fold(one.person.name) or (by_mail and wanted in fold(one.person.email))
    ][:MOST]
