"""Halting runs, resuming them, their limits, and letting quarantined branches try again: for people."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import PersonView, actor_of, answer, read, run_of_person
from reviewhub.core.errors import NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.gates.halt import halt
from reviewhub.gates.present_runs import run_out
from reviewhub.gates.resume import resume
from reviewhub.gates.set_limits import set_limits
from reviewhub.hosting.retry import retry
from reviewhub.runs.models import Branch


class HaltRun(PersonView):
    """`POST /runs/{run}/halt`"""

    @extend_schema(request=wire.WhyBody, responses=wire.RunOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Nothing starts for the run until it is resumed; halting twice changes nothing, 409 when it has ended."""
        row, caller = run_of_person(request, run, Action.RUN_HALT)
        halt(run_id=row.pk, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return answer(run_out(row, for_people=True))


class ResumeRun(PersonView):
    """`POST /runs/{run}/resume`"""

    @extend_schema(request=wire.WhyBody, responses=wire.RunOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Lifts the halt, whoever or whatever made it; resuming one that is not halted changes nothing,
        409 when it has ended."""
        row, caller = run_of_person(request, run, Action.RUN_RESUME)
        resume(run_id=row.pk, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return answer(run_out(row, for_people=True))


class RunLimits(PersonView):
    """`POST /runs/{run}/limits`"""

    @extend_schema(request=wire.LimitsBody, responses=wire.RunOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Sets what the run may spend and how long it may work; halts that the old limits made are lifted."""
        row, caller = run_of_person(request, run, Action.RUN_RESUME)
        body = read(request, wire.LimitsBody)
        set_limits(
            run_id=row.pk,
            spend_micros=body.spend_micros,
            seconds=body.seconds,
            reason=body.reason,
            actor=actor_of(request, caller),
        )
        row.refresh_from_db()
        return answer(run_out(row, for_people=True))


class RetryBranch(PersonView):
    """`POST /branches/{branch}/retry`"""

    @extend_schema(request=wire.WhyBody, responses=wire.RunOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Lets a quarantined branch go on from its last checkpoint; 409 when it is not quarantined."""
        found = one_or_none(Branch.objects.filter(pk=branch))
        if found is None:
            raise NotFound
        row, caller = run_of_person(request, found.run_id, Action.RUN_RESUME)
        why = read(request, wire.WhyBody).reason
        retry(branch_id=found.pk, reason=why, actor=actor_of(request, caller))
        row.refresh_from_db()
        return answer(run_out(row, for_people=True))
