"""A deadline passes: nobody reviewed in time."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.core.actors import TIMEOUT
from reviewhub.core.clock import DbNow
from reviewhub.core.errors import StaleState
from reviewhub.reviews.conclude import conclude
from reviewhub.reviews.lock import lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.states import RequestState
from reviewhub.toolcalls.settle import Answer
from reviewhub.toolcalls.states import CallState

BATCH = 200


def due() -> list[uuid.UUID]:
    """Ids of pending requests whose deadline has passed, the oldest first."""
    rows = ReviewRequest.objects.filter(state=RequestState.PENDING, deadline_at__lte=DbNow())
    return list(rows.order_by("deadline_at").values_list("pk", flat=True)[:BATCH])


@transaction.atomic
def expire(*, request_id: uuid.UUID) -> bool:
    """Ends one request whose time is over; false when somebody was faster or the time is not over.

    Delivering this twice, or late, does nothing more: the deadline and the state are in the guarded UPDATE.
    """
    locked = lock_request(request_id)
    row = locked.request
    if row.state != RequestState.PENDING:
        return False
    stored = Stored.model_validate_json(row.requirement)
    answer = Answer(
        type="expire",
        to=CallState.ALLOWED if row.on_timeout == "allow" else CallState.DENIED,
        by=TIMEOUT,
        request_id=row.pk,
        policy_version=stored.policy_version,
    )
    try:
        with transaction.atomic():
            conclude(locked=locked, request=row, answer=answer, where={"deadline_at__lte": DbNow()})
    except StaleState:
        return False
    return True
