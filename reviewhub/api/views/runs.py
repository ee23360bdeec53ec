"""Runs: start, list, read, cancel; for agents and for people."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import (
    Action,
    AgentCaller,
    Caller,
    MemberCaller,
    Target,
    require,
    scope_of,
)
from reviewhub.accounts.queries import agent_target
from reviewhub.api.authentication import caller_in, caller_of
from reviewhub.api.base import (
    AgentView,
    EitherView,
    PersonView,
    actor_of,
    answer,
    check_reason,
    key_of,
    read,
    read_tree,
)
from reviewhub.core.errors import Forbidden, Invalid, NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.gates.cancel import cancel
from reviewhub.gates.present_runs import run_out, run_rows
from reviewhub.hosting.start_once import start_once
from reviewhub.reviews.queries import runs_visible
from reviewhub.runs.models import Run
from reviewhub.runs.queries import Filters, listed
from reviewhub.runs.start import start
from reviewhub.runs.states import RunState


class Runs(EitherView):
    """`GET | POST /runs`"""

    takes = frozenset({"agent", "cursor", "environment", "q", "state"})

    @extend_schema(
        operation_id="runs_list",
        parameters=[OpenApiParameter(name, str) for name in ("state", "agent", "environment", "q", "cursor")],
        responses=wire.RunList,
    )
    def get(self, request: Request) -> HttpResponse:
        """For people: the runs that they may see, the newest first, without what they began and ended with.

        `?state=`, `?agent=` (a name), `?environment=` and `?q=` (part of a title, or an external id) narrow it;
        `?cursor=` goes on.
        """
        caller = caller_of(request)
        if isinstance(caller, AgentCaller):
            raise Forbidden(PersonView.ONLY)
        require(caller, Action.QUEUE_READ, Target(workspace_id=caller.workspace_id))
        page = listed(
            runs_visible(scope_of(caller)).select_related("workspace"),
            filters=_filters(request, caller),
            cursor=request.query_params.get("cursor", ""),
        )
        return answer(run_rows(page))

    @extend_schema(request=wire.RunStart, responses={201: wire.RunOut, 200: wire.RunOut})
    def post(self, request: Request) -> HttpResponse:
        """For agents: starts a run; a repeat (same key, equal body; or the same `external_id`) answers 200 with it."""
        caller = caller_of(request)
        if not isinstance(caller, AgentCaller):
            raise Forbidden(AgentView.ONLY)
        require(caller, Action.RUN_WRITE, Target(workspace_id=caller.workspace_id, agent_id=caller.agent.pk))
        body = read_tree(request)
        run, created = start(
            key=caller.key,
            body=body.read(wire.RunStart),
            actor=actor_of(request),
            once=(key_of(request), body.digest),
        )
        return answer(run_out(run), status=201 if created else 200)


class OneRun(EitherView):
    """`GET /runs/{run}`"""

    @extend_schema(responses=wire.RunOut)
    def get(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """The run with its branches; for people without secrets."""
        return _shown(*self.run(request, run, Action.RUN_READ))


class CancelRun(EitherView):
    """`POST /runs/{run}/cancel`"""

    @extend_schema(request=wire.CancelBody, responses=wire.RunOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Ends all branches of the run; cancelling an ended run changes nothing. People say why."""
        found, caller = self.run(request, run, Action.RUN_CANCEL)
        body = read(request, wire.CancelBody)
        check_reason(caller, body.reason)
        cancel(run_id=found.pk, reason=body.reason, actor=actor_of(request, caller))
        found.refresh_from_db()
        return _shown(found, caller)


class AgentRuns(PersonView):
    """`POST /agents/{agent}/runs`"""

    @extend_schema(request=wire.HostedStart, responses={201: wire.RunOut, 200: wire.RunOut})
    def post(self, request: Request, agent: uuid.UUID) -> HttpResponse:
        """Starts a run of a hosted agent; a repeat (same key, equal body) answers 200 with the same run."""
        row = one_or_none(Agent.objects.select_related("team", "workspace").filter(pk=agent))
        if row is None:
            raise NotFound
        caller = caller_in(request, row.workspace_id)
        require(caller, Action.RUN_START, agent_target(row))
        if not isinstance(caller, MemberCaller):
            raise Forbidden
        body = read(request, wire.HostedStart)
        run, created = start_once(
            agent=row,
            body=body,
            key=key_of(request),
            actor=actor_of(request, caller),
            started_by=caller.member,
        )
        return answer(run_out(run, for_people=True), status=201 if created else 200)


def _shown(run: Run, caller: Caller) -> HttpResponse:
    return answer(run_out(run, for_people=isinstance(caller, MemberCaller)))


def _filters(request: Request, caller: Caller) -> Filters:
    given = request.query_params
    state = given.get("state", "")
    if state and state not in RunState.values:
        raise Invalid.at("/query/state", f"is one of {', '.join(RunState.values)}")
    named = given.get("agent", "")
    agents = Agent.objects.filter(workspace_id=caller.workspace_id, name=named).values_list("pk", flat=True)
    return Filters(
        state=state,
        # An agent that nobody knows has no runs, so the list is empty and not everybody's.
        agent=(agents.first() or uuid.UUID(int=0)) if named else None,
        environment=given.get("environment", "")[:40],
        text=given.get("q", "")[:200].strip(),
    )
