"""Pauses and observations: the two ways to tell of tool calls."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import canonical, wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, Body, actor_of, answer, key_of, read_tree
from reviewhub.core.errors import NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.gates.observe import observe
from reviewhub.gates.pause import pause
from reviewhub.gates.present import is_final, observation_out, pause_out
from reviewhub.gates.present_budget import with_warnings
from reviewhub.runs.queries import runs_of
from reviewhub.toolcalls.models import Pause


class Pauses(AgentView):
    """`POST /runs/{run}/pauses`"""

    @extend_schema(request=wire.PauseBody, responses={201: wire.PauseOut, 200: wire.PauseOut})
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Pauses at tool calls. A repeat (same key, equal body) answers 200 with the pause as it is now."""
        found = self.run(request, run, Action.RUN_WRITE)
        key, body = key_of(request), read_tree(request)
        paused = pause(
            run=found,
            agent=self.caller(request).agent,
            body=body.read(wire.PauseBody),
            body_digest=_asked(body),
            key=key,
            actor=actor_of(request),
        )
        out = with_warnings(pause_out(paused.pause, paused.fresh), paused.warnings)
        return answer(out, status=201 if paused.created else 200)


class OnePause(AgentView):
    """`GET /pauses/{pause}`"""

    @extend_schema(responses=wire.PauseOut)
    def get(self, request: Request, pause: uuid.UUID) -> HttpResponse:
        """The pause; with `?wait=30` it is held back until it settles or a reviewer asks something."""
        found = one_or_none(
            Pause.objects.filter(pk=pause, run__in=runs_of(self.key(request, Action.RUN_READ)))
        )
        if found is None:
            raise NotFound("There is no such pause.")
        out = pause_out(found)
        return answer(out, wait_for="" if is_final(found, out.tool_calls) else f"pause:{found.pk}")


class Observations(AgentView):
    """`POST /runs/{run}/observations`"""

    @extend_schema(
        request=wire.ObservationBody, responses={201: wire.ObservationOut, 200: wire.ObservationOut}
    )
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Records calls that ran without asking."""
        found = self.run(request, run, Action.RUN_WRITE)
        key, body = key_of(request), read_tree(request)
        observed = observe(
            run=found,
            agent=self.caller(request).agent,
            body=body.read(wire.ObservationBody),
            body_digest=body.digest,
            key=key,
            actor=actor_of(request),
        )
        out = with_warnings(observation_out(found, observed), observed.warnings)
        return answer(out, status=201 if observed.created else 200)


def _asked(body: Body) -> str:
    """The digest of what is asked for: an agent that was restarted asks the same in another epoch."""
    if not isinstance(body.tree, dict) or "epoch" not in body.tree:
        return body.digest
    return canonical.body_digest({name: value for name, value in body.tree.items() if name != "epoch"})
