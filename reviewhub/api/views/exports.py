"""Exports of the sealed record, streamed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime

from django.db import transaction
from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from reviewhub.accounts.permissions import Action, Target, require
from reviewhub.accounts.queries import agents_of_team
from reviewhub.api.authentication import caller_of
from reviewhub.api.base import PersonView, actor_of
from reviewhub.audit.export import Bundle, export_one, export_range, export_selection
from reviewhub.audit.plain import export_plain
from reviewhub.audit.queries import Filters
from reviewhub.core.errors import Invalid

TIMES = ("since", "until")
OTHERS = ("actor", "about", "agent", "team", "run", "request", "kind", "tool", "text")
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
LINES = {(200, "application/jsonl"): OpenApiTypes.STR}


class ExportEvents(PersonView):
    """`GET /events/export`"""

    takes = frozenset({*TIMES, *OTHERS, "form"})

    @extend_schema(
        parameters=[OpenApiParameter(name, str) for name in (*TIMES, *OTHERS, "form")], responses=LINES
    )
    def get(self, request: Request) -> HttpResponseBase:
        """The record: a signed bundle of what is sealed (whole seals of a time, or with a filter the events that fit).

        With `form` csv or jsonl it is a table or JSON lines of everything that fits, which prove nothing.
        """
        caller = caller_of(request)
        require(caller, Action.AUDIT_READ, Target(workspace_id=caller.workspace_id))
        params = request.query_params
        given = {name: params[name] for name in (*TIMES, *OTHERS) if name in params}
        filters = _filters(given, caller.workspace_id)
        form = params.get("form", "bundle")
        words = ", ".join(f"{name} {value}" for name, value in sorted(given.items()))
        workspace_id, actor = caller.workspace_id, actor_of(request)
        with transaction.atomic():
            if form != "bundle":
                bundle = export_plain(
                    workspace_id=workspace_id, actor=actor, filters=filters, words=words, form=form
                )
            elif set(given) <= set(TIMES):
                bundle = export_range(
                    workspace_id=workspace_id, actor=actor, since=filters.since, until=filters.until
                )
            else:
                bundle = export_selection(
                    workspace_id=workspace_id, actor=actor, filters=filters, words=words
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


def _filters(given: Mapping[str, str], workspace_id: uuid.UUID) -> Filters:
    """Raises Invalid for a value that is none."""
    team = _id("team", given)
    return Filters(
        team_id=team,
        agent_ids=agents_of_team(workspace_id, team) if team else (),
        about_id=_id("about", given),
        actor_id=_id("actor", given),
        agent_id=_id("agent", given),
        run_id=_id("run", given),
        request_id=_id("request", given),
        kind=given.get("kind", ""),
        tool=given.get("tool", ""),
        text=given.get("text", ""),
        since=_time("since", given),
        until=_time("until", given),
    )


def _id(name: str, given: Mapping[str, str]) -> uuid.UUID | None:
    try:
        return uuid.UUID(given[name]) if name in given else None
    except ValueError as error:
        raise Invalid.at(f"/query/{name}", "This is no UUID.") from error


def _time(name: str, given: Mapping[str, str]) -> datetime | None:
    try:
        found = datetime.fromisoformat(given[name]) if name in given else None
    except ValueError as error:
        raise Invalid.at(f"/query/{name}", "This is no time in ISO 8601.") from error
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
