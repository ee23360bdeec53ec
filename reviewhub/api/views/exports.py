"""Exports of the sealed record, streamed."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from reviewhub.accounts.models import Workspace
from reviewhub.accounts.permissions import Action, Target, require
from reviewhub.api.authentication import caller_of
from reviewhub.api.base import PersonView, actor_of
from reviewhub.api.views.record_filters import NAMES, TIMES, filters_of, given_of, words_of
from reviewhub.audit.export import Bundle, export_one, export_range, export_selection
from reviewhub.audit.plain import export_plain
from reviewhub.checkpoints.exported import NamedStates
from reviewhub.core.errors import Invalid

TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
LINES = {(200, "application/jsonl"): OpenApiTypes.STR}


class ExportEvents(PersonView):
    """`GET /events/export`"""

    takes = frozenset({*NAMES, "form", "states"})

    @extend_schema(
        parameters=[OpenApiParameter(name, str) for name in (*NAMES, "form", "states")], responses=LINES
    )
    def get(self, request: Request) -> HttpResponseBase:
        """The record: a signed bundle of what is sealed (whole seals of a time, or with a filter the events that fit).

        `states=1` puts the states of checkpoints into it that events name. With `form` csv or jsonl it is a table or
        JSON lines of everything that fits, which prove nothing.
        """
        caller = caller_of(request)
        require(caller, Action.AUDIT_READ, Target(workspace_id=caller.workspace_id))
        given = given_of(request.query_params)
        filters, words = filters_of(given, caller.workspace_id), words_of(given)
        form = request.query_params.get("form", "bundle")
        workspace_id, actor = caller.workspace_id, actor_of(request)
        states = _states(request.query_params.get("states"), form)
        with transaction.atomic():
            if form != "bundle":
                bundle = export_plain(
                    workspace_id=workspace_id,
                    workspace=Workspace.objects.values_list("slug", flat=True).get(pk=workspace_id),
                    actor=actor,
                    filters=filters,
                    words=words,
                    form=form,
                )
            elif set(given) <= set(TIMES):
                bundle = export_range(
                    workspace_id=workspace_id,
                    actor=actor,
                    since=filters.since,
                    until=filters.until,
                    states=states,
                )
            else:
                bundle = export_selection(
                    workspace_id=workspace_id, actor=actor, filters=filters, words=words, states=states
                )
        return streamed(bundle)


class EventProof(PersonView):
    """`GET /events/{event}/proof`"""

    @extend_schema(responses=LINES)
    def get(self, request: Request, event: int) -> HttpResponseBase:
        """One event with the path to the signed root of its seal, as a bundle."""
        caller = caller_of(request)
        require(caller, Action.AUDIT_READ, Target(workspace_id=caller.workspace_id))
        with transaction.atomic():
            bundle = export_one(
                workspace_id=caller.workspace_id, actor=actor_of(request), event_id=min(event, 2**63 - 1)
            )
        return streamed(bundle)


def streamed(bundle: Bundle) -> StreamingHttpResponse:
    """A file, sent as it is made."""
    answer = StreamingHttpResponse(bundle.lines, content_type=TYPES[bundle.name.rpartition(".")[2]])
    answer["Content-Disposition"] = f'attachment; filename="{bundle.name}"'
    answer["Cache-Control"] = "no-store"
    return answer


def _states(text: str | None, form: str) -> NamedStates | None:
    """Raises Invalid when states are asked for where there is no place for them."""
    if text is None:
        return None
    if text != "1" or form != "bundle":
        raise Invalid.at("/query/states", "Leave it out, or say 1 for the states in a bundle.")
    return NamedStates()
