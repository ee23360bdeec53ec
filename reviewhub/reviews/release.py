"""A reviewer gives a claimed request back."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.reviews.kinds import RequestReleased
from reviewhub.reviews.lock import check_not_erased, lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.targets import request_target


@transaction.atomic
def release(*, request_id: uuid.UUID, member: Member, actor: Actor) -> ReviewRequest:
    """Ends the member's own claim; nothing happens when there is none. Raises RunErased."""
    row = lock_request(request_id).request
    still_may(actor, Action.REQUEST_CLAIM, request_target(row))
    check_not_erased(row)
    if row.claimed_by_id != member.pk:
        return row
    ReviewRequest.objects.filter(pk=row.pk).update(claimed_by=None, claimed_until=None)
    row.claimed_by, row.claimed_until = None, None
    record(
        "request.released",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=RequestReleased(number=row.number),
    )
    return row
