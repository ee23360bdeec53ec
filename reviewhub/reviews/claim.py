"""A reviewer takes a request for a while, so that two people do not read the same one."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.reviews.errors import NotYours
from reviewhub.reviews.holder import holder
from reviewhub.reviews.kinds import RequestClaimed
from reviewhub.reviews.lock import check_open, lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.targets import request_target


@transaction.atomic
def claim(*, request_id: uuid.UUID, member: Member, actor: Actor, take_over: bool = False) -> ReviewRequest:
    """Claims a pending request for `settings.CLAIM_SECONDS`; claiming one's own again extends it.

    Args:
        take_over: also when somebody else's claim still holds; the record then names whose it was.

    Raises:
        NotYours: somebody else's claim still holds (names who).
        NotAnyMore: this person may not decide the request any more.
    """
    row = lock_request(request_id).request
    still_may(actor, Action.REQUEST_CLAIM, request_target(row))
    check_open(row)
    held_by = holder(row)
    taken_from = ""
    if held_by is not None and held_by.pk != member.pk:
        taken_from = held_by.person.name
        if not take_over:
            raise NotYours(f"{taken_from} has claimed this request.", by=taken_from)
    fresh = held_by is None or held_by.pk != member.pk
    until = now() + timedelta(seconds=settings.CLAIM_SECONDS)
    ReviewRequest.objects.filter(pk=row.pk).update(claimed_by=member, claimed_until=until)
    row.claimed_by, row.claimed_until = member, until
    if fresh:
        record(
            "request.claimed",
            workspace_id=row.workspace_id,
            actor=actor,
            run_id=row.run_id,
            request_id=row.pk,
            agent_id=row.agent_id,
            data=RequestClaimed(number=row.number, taken_from=taken_from),
        )
    return row
