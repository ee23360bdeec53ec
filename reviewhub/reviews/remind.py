"""Whoever still has to answer a request is reminded, once."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.audit.record import record
from reviewhub.core.actors import TIMEOUT
from reviewhub.core.clock import DbNow
from reviewhub.reviews.kinds import RequestReminded
from reviewhub.reviews.lock import IN_TIME, lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import tally
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.turn import deciders_in, send
from reviewhub.reviews.vote import votes_of

BATCH = 200
DUE = {"state": RequestState.PENDING, "remind_at__lte": DbNow()}


def due() -> list[uuid.UUID]:
    """Ids of pending requests whose reminder is due, the oldest first."""
    rows = ReviewRequest.objects.filter(IN_TIME, **DUE).order_by("remind_at")
    return list(rows.values_list("pk", flat=True)[:BATCH])


@transaction.atomic
def remind(*, request_id: uuid.UUID) -> bool:
    """Reminds those whose turn it is and who have not voted; false when it is not due (any more)."""
    row = lock_request(request_id).request
    if not ReviewRequest.objects.filter(IN_TIME, pk=row.pk, **DUE).exists():
        return False
    stored = Stored.model_validate_json(row.requirement)
    turn = tally(stored.requirement, votes_of(row), version=row.version).turn
    ReviewRequest.objects.filter(pk=row.pk).update(remind_at=None)
    voted = row.reviews.filter(voided_at__isnull=True).values("member_id")
    people = send(row, deciders_in(stored.asked_at(turn)).exclude(pk__in=voted), why="Reminder")
    record(
        "request.reminded",
        workspace_id=row.workspace_id,
        actor=TIMEOUT,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=RequestReminded(number=row.number, teams=row.waits_for, people=people),
    )
    return True
