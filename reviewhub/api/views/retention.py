"""Retention: what is in force, what would go, what became of a run, and erasing. For people; no key opens it."""

from __future__ import annotations

import uuid
from dataclasses import fields

from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Caller, Target, require
from reviewhub.api.authentication import caller_of
from reviewhub.api.base import PersonView, actor_of, answer, read, run_of_person
from reviewhub.api.views.exports import LINES, streamed
from reviewhub.core.errors import NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.retention.erase import erase
from reviewhub.retention.forecast import look
from reviewhub.retention.person_data import export_subject
from reviewhub.retention.present import dry_run_out, retention_out, rule_out, run_retention_out
from reviewhub.retention.rules import Limits
from reviewhub.retention.set_rule import set_rule
from reviewhub.runs.models import RetentionRule


class WorkspaceView(PersonView):
    """A person asks about, or acts on, the whole workspace."""

    def allowed(self, request: Request, action: Action) -> Caller:
        """The membership to act by. Raises NotFound, Forbidden."""
        caller = caller_of(request)
        require(caller, action, Target(workspace_id=caller.workspace_id))
        return caller


class Retention(WorkspaceView):
    """`GET /retention`"""

    @extend_schema(responses=wire.RetentionOut)
    def get(self, request: Request) -> HttpResponse:
        """The rules in force, the runs under hold, and those that retention cannot go through."""
        return answer(retention_out(self.allowed(request, Action.RETENTION_READ).workspace_id))


class Rules(WorkspaceView):
    """`PUT /retention/rules`"""

    @extend_schema(request=wire.RuleBody, responses=wire.RuleOut)
    def put(self, request: Request) -> HttpResponse:
        """Makes or changes the rule of an agent, or of all, for a class of runs, or for all."""
        caller, body = self.allowed(request, Action.RETENTION_EDIT), read(request, wire.RuleBody)
        limits = Limits(**{each.name: getattr(body, each.name) for each in fields(Limits)})
        row = _set(request, caller, body, limits)
        assert row is not None
        return answer(rule_out(row))


class RemoveRule(WorkspaceView):
    """`POST /retention/rules/remove`"""

    @extend_schema(request=wire.RuleNamed, responses={204: None})
    def post(self, request: Request) -> HttpResponse:
        """Takes a rule away; those that are left, or the default, say how long is kept."""
        caller, body = self.allowed(request, Action.RETENTION_EDIT), read(request, wire.RuleNamed)
        _set(request, caller, body, None)
        return HttpResponse(status=204)


class DryRun(WorkspaceView):
    """`GET /retention/dry-run`"""

    takes = frozenset({"cursor"})

    @extend_schema(parameters=[OpenApiParameter("cursor", str)], responses=wire.DryRunOut)
    def get(self, request: Request) -> HttpResponse:
        """What the rules would take just now, some runs at a time; `?cursor=` for the next. Removes nothing."""
        caller = self.allowed(request, Action.RETENTION_READ)
        return answer(dry_run_out(look(caller.workspace_id, cursor=request.query_params.get("cursor", ""))))


class PersonData(WorkspaceView):
    """`GET /retention/person-data`"""

    takes = frozenset({"on_behalf_of"})

    @extend_schema(parameters=[OpenApiParameter("on_behalf_of", str, required=True)], responses=LINES)
    def get(self, request: Request) -> HttpResponseBase:
        """What the runs hold that were started on behalf of somebody, as JSON lines without secrets."""
        caller = self.allowed(request, Action.RUN_ERASE)
        with transaction.atomic():
            bundle = export_subject(
                workspace_id=caller.workspace_id,
                on_behalf_of=request.query_params.get("on_behalf_of", ""),
                actor=actor_of(request, caller),
            )
        return streamed(bundle)


class RunRetention(PersonView):
    """`GET /runs/{run}/retention`"""

    @extend_schema(responses=wire.RunRetentionOut)
    def get(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """What is in force for a run, what it would lose now, what keeps it, and what was removed of it so far."""
        row, _ = run_of_person(request, run, Action.RETENTION_READ)
        return answer(run_retention_out(row))


class Erase(WorkspaceView):
    """`POST /retention/erase`"""

    @extend_schema(request=wire.EraseBody, responses=wire.EraseOut)
    def post(self, request: Request) -> HttpResponse:
        """Erases what all runs that were started on behalf of somebody hold. There is no way back."""
        caller = self.allowed(request, Action.RUN_ERASE)
        body = read(request, wire.EraseBody)
        done = erase(
            workspace_id=caller.workspace_id,
            on_behalf_of=body.on_behalf_of,
            reason=body.reason,
            actor=actor_of(request, caller),
        )
        return answer(wire.EraseOut(runs=done.runs))


def _set(
    request: Request, caller: Caller, body: wire.RuleNamed, limits: Limits | None
) -> RetentionRule | None:
    return set_rule(
        workspace_id=caller.workspace_id,
        agent_id=None if body.agent is None else _agent(caller.workspace_id, body.agent),
        run_class=body.run_class,
        limits=limits,
        base=body.base,
        actor=actor_of(request, caller),
    )


def _agent(workspace_id: uuid.UUID, name: str) -> uuid.UUID:
    found = one_or_none(
        Agent.objects.filter(workspace_id=workspace_id, name=name).values_list("pk", flat=True)
    )
    if found is None:
        raise NotFound("There is no such agent.")
    return found
