"""Verdicts on calls, what speaks against a plan, and a person who wants another one."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, PersonView, actor_of, answer, key_of, read, run_of_person
from reviewhub.api.views.calls import CallView
from reviewhub.gates.present_verdicts import verdict_out
from reviewhub.reviews.targets import run_target
from reviewhub.verdicts.ask_plan import ask_plan
from reviewhub.verdicts.give import give
from reviewhub.verdicts.queries import signals


class Verdicts(CallView):
    """`POST /tool-calls/{call}/verdicts`"""

    @extend_schema(request=wire.VerdictBody, responses={201: wire.VerdictOut})
    def post(self, request: Request, call: uuid.UUID) -> HttpResponse:
        """Writes down what a verifier in the agent's own code says of a call; the first one of a name stays."""
        found = self.call(request, call, Action.RUN_WRITE)
        body = read(request, wire.VerdictBody)
        row = give(call_id=found.pk, body=body, actor=actor_of(request))
        return answer(verdict_out(row), status=201)


class Signals(AgentView):
    """`GET /branches/{branch}/signals`"""

    @extend_schema(responses=wire.SignalsOut)
    def get(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """What speaks against the plan in force: failures in a row, a contradicted assumption, a person."""
        return answer(signals(self.branch(request, branch, Action.RUN_READ)))


class AskPlan(PersonView):
    """`POST /runs/{run}/plans/ask`"""

    @extend_schema(request=wire.AskPlanBody, responses={201: wire.VerdictOut})
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """A person wants another plan; the agent is told at the end of its step."""
        found, caller = run_of_person(request, run, Action.PLAN_RESTORE)
        target = run_target(found)
        key, body = key_of(request), read(request, wire.AskPlanBody)
        row = ask_plan(run=found, body=body, key=key, target=target, actor=actor_of(request, caller))
        return answer(verdict_out(row), status=201)
