"""What an agent's states weigh, and the budgets that admins set for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, MemberCaller, scope_of
from reviewhub.budgets.queries import budgets_of, default_budget
from reviewhub.budgets.rules import Budget, shortened
from reviewhub.budgets.set_budget import set_budget
from reviewhub.budgets.weigh_agent import weigh_agent
from reviewhub.checkpoints.models import StateSchema
from reviewhub.core.errors import Invalid
from reviewhub.gates.set_aside import set_aside
from reviewhub.reviews.queries import runs_visible
from reviewhub.web.access import actor, page, posted
from reviewhub.web.agents import find
from reviewhub.web.forms import text_in, words
from reviewhub.web.render import may, show

MOST_SCHEMAS = 50
_BYTES = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True)
class Card:
    """The budget of the states of one schema (of all others, without a name), and the fields with their own limits."""

    schema: str
    budget: Budget
    is_set: bool
    fields: str


@require_safe
@page(Action.AGENTS_READ, of=find)
def budget(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """The budgets of an agent, its newest runs and their heaviest fields."""
    return _page(request, caller, agent)


def _page(
    request: HttpRequest, caller: MemberCaller, agent: Agent, *, status: int = 200, **more: Any
) -> HttpResponse:
    weight = weigh_agent(runs_visible(scope_of(caller)).filter(agent=agent))
    for checkpoint_id in weight.damaged:
        set_aside(checkpoint_id=checkpoint_id)
    context = {
        "agent": agent,
        "weight": weight,
        "fields": [(shortened(one.name), one) for one in weight.fields],
        "cards": _cards(agent),
        "may_edit": may(caller, Action.AGENTS_EDIT),
        **more,
    }
    return show(request, caller, "web/agent_budget.html", context, nav="agents", status=status)


def _cards(agent: Agent) -> list[Card]:
    found = budgets_of(agent.pk)
    schemas = (
        StateSchema.objects.filter(agent=agent).order_by("name").values_list("name", flat=True).distinct()
    )
    fallback = found.get("") or default_budget()
    return [
        _card(name, found.get(name) or (fallback if name else default_budget()), is_set=name in found)
        for name in ("", *schemas[:MOST_SCHEMAS])
    ]


def _card(name: str, budget: Budget, *, is_set: bool) -> Card:
    return Card(name, budget, is_set, "\n".join(f"{name} = {limit}" for name, limit in budget.fields.items()))


def _again(request: HttpRequest, caller: MemberCaller, agent: Agent, error: Invalid) -> HttpResponse:
    more = {"errors": words(error), "of": request.POST.get("schema", ""), "typed": request.POST}
    return _page(request, caller, agent, status=error.status, **more)


@posted
@page(Action.AGENTS_EDIT, of=find, again=_again)
def change(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """Sets a budget, or takes it back."""
    schema = text_in(request, "schema")
    back = request.POST.get("do") == "default"
    wanted = None if back else _budget_in(request)
    set_budget(agent=agent, schema_name=schema, budget=wanted, actor=actor(request, caller))
    what = f"the states “{schema}” of {agent.name}" if schema else f"the states of {agent.name}"
    messages.success(request, f"The default is back for {what}." if back else f"The budget of {what} is set.")
    return redirect(f"/{caller.member.workspace.slug}/agents/{agent.pk}/budget")


def _budget_in(request: HttpRequest) -> Budget:
    fields: dict[str, int] = {}
    for line in text_in(request, "fields").splitlines():
        if line.strip():
            name, equals, limit = line.rpartition("=")
            if not equals or name.strip() in fields:
                said = "Write a field and its limit on a line, such as messages = 2000000, each field once"
                raise Invalid.at("/fields", f"{said}; not “{line.strip()[:80]}”.")
            fields[name.strip()] = _bytes(limit, f"The limit of {name.strip()[:80]}")
    return Budget(
        field_bytes=_bytes(text_in(request, "field_bytes"), "The limit of each field"),
        step_bytes=_bytes(text_in(request, "step_bytes"), "What one checkpoint may add"),
        fields=fields,
    )


def _bytes(text: str, what: str) -> int:
    """A number of bytes as it is typed, `what` says of what; commas and spaces are left out, nothing stands for 0."""
    bare = text.replace(",", "").replace(" ", "")
    if bare and not _BYTES.fullmatch(bare):
        raise Invalid.at(
            "/bytes", f"{what} is a whole number of bytes, or 0 for any size; “{text.strip()[:40]}” is not."
        )
    return int(bare or 0)
