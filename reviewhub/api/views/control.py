"""Halting runs, resuming them, their limits, and letting quarantined branches try again: for people."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action, Caller, require
from reviewhub.api.authentication import caller_in
from reviewhub.api.base import PersonView, actor_of, answer, read
from reviewhub.core.errors import NotFound
from reviewhub.gates.halt import halt
from reviewhub.gates.present_runs import run_out
from reviewhub.gates.resume import resume
from reviewhub.gates.set_limits import set_limits
from reviewhub.hosting.retry import retry
from reviewhub.reviews.targets import run_target
from reviewhub.runs.models import Branch, Run


class ControlView(PersonView):
    """A person acts on a run that they may know of."""

    def run(self, request: Request, run_id: uuid.UUID, action: Action) -> tuple[Run, Caller]:
        """The run, and the membership to act by. Raises NotFound, Forbidden."""
        row = Run.objects.select_related("agent", "workspace").filter(pk=run_id).first()
        if row is None:
            raise NotFound
        caller = caller_in(request, row.workspace_id)
        require(caller, action, run_target(row))
        return row, caller


class HaltRun(ControlView):
    """`POST /runs/{run}/halt`"""

    @extend_schema(request=wire.WhyBody, responses=wire.RunOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Nothing starts for the run until it is resumed; halting twice changes nothing."""
        row, caller = self.run(request, run, Action.RUN_HALT)
        halt(run_id=row.pk, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return answer(run_out(row))


class ResumeRun(ControlView):
    """`POST /runs/{run}/resume`"""

    @extend_schema(request=wire.WhyBody, responses=wire.RunOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Lifts the halt, whoever or whatever made it; resuming a run that is not halted changes nothing."""
        row, caller = self.run(request, run, Action.RUN_RESUME)
        resume(run_id=row.pk, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return answer(run_out(row))


class RunLimits(ControlView):
    """`POST /runs/{run}/limits`"""

    @extend_schema(request=wire.LimitsBody, responses=wire.RunOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Sets what the run may spend and how long it may work; halts that the old limits made are lifted."""
        row, caller = self.run(request, run, Action.RUN_RESUME)
        body = read(request, wire.LimitsBody)
        set_limits(
            run_id=row.pk,
            spend_micros=body.spend_micros,
            seconds=body.seconds,
            reason=body.reason,
            actor=actor_of(request, caller),
        )
        row.refresh_from_db()
        return answer(run_out(row))


class RetryBranch(ControlView):
    """`POST /branches/{branch}/retry`"""

    @extend_schema(request=wire.WhyBody, responses=wire.RunOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Lets a quarantined branch go on from its last checkpoint; 409 when it is not quarantined."""
        found = Branch.objects.filter(pk=branch).first()
        if found is None:
            raise NotFound
        row, caller = self.run(request, found.run_id, Action.RUN_RESUME)
        why = read(request, wire.WhyBody).reason
        retry(branch_id=found.pk, reason=why, actor=actor_of(request, caller))
        row.refresh_from_db()
        return answer(run_out(row))
