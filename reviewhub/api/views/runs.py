"""Runs: start, read, cancel."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, actor_of, answer, key_of, read, read_tree
from reviewhub.gates.cancel import cancel
from reviewhub.gates.present_runs import run_out
from reviewhub.runs.start import start


class Runs(AgentView):
    """`POST /runs`"""

    @extend_schema(request=wire.RunStart, responses={201: wire.RunOut, 200: wire.RunOut})
    def post(self, request: Request) -> HttpResponse:
        """Starts a run; a repeat (same key, equal body; or the same `external_id`) answers 200 with the same run."""
        key = self.key(request, Action.RUN_WRITE)
        body = read_tree(request)
        run, created = start(
            key=key,
            body=body.read(wire.RunStart),
            actor=actor_of(request),
            once=(key_of(request), body.digest),
        )
        return answer(run_out(run), status=201 if created else 200)


class OneRun(AgentView):
    """`GET /runs/{run}`"""

    @extend_schema(responses=wire.RunOut)
    def get(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """The run with its branches."""
        return answer(run_out(self.run(request, run, Action.RUN_READ)))


class CancelRun(AgentView):
    """`POST /runs/{run}/cancel`"""

    @extend_schema(request=wire.CancelBody, responses=wire.RunOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Ends all branches of the run; cancelling an ended run changes nothing."""
        found = self.run(request, run, Action.RUN_CANCEL)
        body = read(request, wire.CancelBody)
        cancel(run_id=found.pk, reason=body.reason, actor=actor_of(request))
        found.refresh_from_db()
        return answer(run_out(found))
