"""Plans: write and read versions, mark steps, compare, restore."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, PersonView, actor_of, answer, key_of, read, run_of_person
from reviewhub.checkpoints.emptied import or_removed
from reviewhub.gates.mark_steps import mark_steps
from reviewhub.gates.plan import plan
from reviewhub.gates.present_plans import (
    mark_out,
    plan_difference,
    plan_difference_out,
    plan_heads,
    plan_out,
)
from reviewhub.gates.restore_plan import restore_plan
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import marks_of, of_number, versions_of
from reviewhub.runs.models import Run


class Plans(AgentView):
    """`GET | POST /runs/{run}/plans`"""

    takes = frozenset({"cursor"})

    @extend_schema(operation_id="plans_list", responses=wire.PlanList)
    def get(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """The versions of the run's plans on all branches, newest first, without their steps; `?cursor=`."""
        found = self.run(request, run, Action.RUN_READ)
        page = versions_of(found.pk, cursor=request.query_params.get("cursor", ""))
        fields: dict[str, Any] = {"items": plan_heads(page.rows)}
        if page.next:
            fields["next"] = page.next
        return answer(wire.PlanList(**fields))

    @extend_schema(request=wire.PlanBody, responses={201: wire.PlanOut})
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Writes what the agent intends as the newest version of a branch's plan."""
        found = self.run(request, run, Action.RUN_WRITE)
        key, body = key_of(request), read(request, wire.PlanBody)
        row = plan(run=found, body=body, key=key, actor=actor_of(request))
        return answer(plan_out(row), status=201)


class OnePlan(AgentView):
    """`GET /runs/{run}/plans/{version}`"""

    @extend_schema(responses=wire.PlanOut)
    def get(self, request: Request, run: uuid.UUID, version: int) -> HttpResponse:
        """One version, its steps as they stand now."""
        found = self.run(request, run, Action.RUN_READ)
        return answer(plan_out(_version(found, version)))


class Marks(AgentView):
    """`GET | POST /runs/{run}/plans/{version}/marks`"""

    takes = frozenset({"cursor"})

    @extend_schema(responses=wire.MarkList)
    def get(self, request: Request, run: uuid.UUID, version: int) -> HttpResponse:
        """How the steps of a version came to where they are, newest first; `?cursor=`."""
        found = self.run(request, run, Action.RUN_READ)
        page = marks_of(_version(found, version), cursor=request.query_params.get("cursor", ""))
        fields: dict[str, Any] = {"items": [mark_out(row) for row in page.rows]}
        if page.next:
            fields["next"] = page.next
        return answer(wire.MarkList(**fields))

    @extend_schema(request=wire.MarksBody, responses=wire.PlanOut)
    def post(self, request: Request, run: uuid.UUID, version: int) -> HttpResponse:
        """Says how far steps of the version in force are; what stands already changes nothing."""
        found = self.run(request, run, Action.RUN_WRITE)
        row, body = _version(found, version), read(request, wire.MarksBody)
        mark_steps(run=found, version=row, body=body, actor=actor_of(request))
        return answer(plan_out(row))


class PlanDifferences(AgentView):
    """`GET /runs/{run}/plans/{version}/difference/{other_version}`"""

    @extend_schema(responses=wire.PlanDifferenceOut)
    def get(self, request: Request, run: uuid.UUID, version: int, other_version: int) -> HttpResponse:
        """What differs in the other version: steps added, removed, moved, changed; and assumptions."""
        found = self.run(request, run, Action.RUN_READ)
        one, other = _version(found, version), _version(found, other_version)
        return answer(plan_difference_out(plan_difference(one, other)))


class RestorePlan(PersonView):
    """`POST /runs/{run}/plans/{version}/restore`"""

    @extend_schema(request=wire.RestorePlanBody, responses={201: wire.PlanOut})
    def post(self, request: Request, run: uuid.UUID, version: int) -> HttpResponse:
        """An older version becomes the newest of a branch; the execution stays where it is."""
        found, caller = run_of_person(request, run, Action.PLAN_RESTORE)
        key, body = key_of(request), read(request, wire.RestorePlanBody)
        row = restore_plan(
            run=found,
            version=_version(found, version),
            body=body,
            key=key,
            actor=actor_of(request, caller),
        )
        return answer(plan_out(row), status=201)


def _version(run: Run, number: int) -> PlanVersion:
    """Raises NotFound, StatesRemoved."""
    with or_removed(run.pk):
        return of_number(run.pk, number)
