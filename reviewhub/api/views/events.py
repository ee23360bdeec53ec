"""The record, for programs of people who may read it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from reviewhub_agents import canonical, wire

from reviewhub.accounts.permissions import Action, Target, require
from reviewhub.api.authentication import caller_of
from reviewhub.api.base import PersonView, actor_of, answer
from reviewhub.api.views.record_filters import NAMES, filters_of, given_of, words_of
from reviewhub.audit.feed import MAX_LIMIT, feed
from reviewhub.audit.looked import looked
from reviewhub.audit.models import Event
from reviewhub.core.errors import Invalid

DEFAULT_LIMIT = 100


class Events(PersonView):
    """`GET /events`"""

    takes = frozenset({"after", "limit", *NAMES})

    @extend_schema(
        parameters=[
            OpenApiParameter("after", str),
            OpenApiParameter("limit", int),
            *(OpenApiParameter(name, str) for name in NAMES),
        ],
        responses=wire.EventList,
    )
    def get(self, request: Request) -> HttpResponse:
        """The workspace's events after the cursor `after`, the oldest first; none is ever left out.

        With a filter those that fit. What takes long to look through comes in parts: `more` then says that there is
        more to look at, also when few or none of this part fit.
        """
        caller = caller_of(request)
        require(caller, Action.AUDIT_READ, Target(workspace_id=caller.workspace_id))
        limit = _limit(request.query_params.get("limit", str(DEFAULT_LIMIT)))
        given = given_of(request.query_params)
        batch = feed(
            workspace_id=caller.workspace_id,
            after=request.query_params.get("after", ""),
            limit=limit,
            filters=filters_of(given, caller.workspace_id),
        )
        looked(
            workspace_id=caller.workspace_id,
            actor=actor_of(request, caller),
            what=f"what fits “{words_of(given)}” as it comes" if given else "the entries as they come",
        )
        items = [event_out(event) for event in batch.events]
        return answer(wire.EventList(items=items, next=batch.cursor, more=batch.more))


def event_out(event: Event) -> wire.EventOut:
    """One event with what is needed to compute its leaf."""
    payload = event.payload
    if payload.erased_at is not None:
        rest: dict[str, Any] = {"erased_at": payload.erased_at}
    else:
        rest = {"salt": bytes(payload.salt).hex(), "body": canonical.reread(payload.body)}
    return wire.EventOut(
        id=event.pk,
        workspace=event.workspace_id,
        kind=event.kind,
        at=event.at,
        leaf=bytes(event.leaf).hex(),
        **rest,
    )


def _limit(text: str) -> int:
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= limit <= MAX_LIMIT:
        raise Invalid.at("/limit", f"A whole number from 1 to {MAX_LIMIT}; {text[:20]!r} was given.")
    return limit
