"""A reviewer takes a request for a while, so that two people do not read the same one."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import DbNow, now
from reviewhub.reviews.errors import NotYours
from reviewhub.reviews.kinds import RequestClaimed
from reviewhub.reviews.lock import check_open
from reviewhub.reviews.models import ReviewRequest


@transaction.atomic
def claim(*, request_id: uuid.UUID, member: Member, actor: Actor) -> ReviewRequest:
    """Claims a pending request for `settings.CLAIM_SECONDS`; claiming one's own again extends it.

    A claim holds while it has not run out and its member is active; that is read here, not swept.

    Raises:
        NotYours: somebody else's claim still holds (names who).
    """
    row = ReviewRequest.objects.select_for_update(no_key=True).get(pk=request_id)
    check_open(row)
    free = (
        Q(claimed_by__isnull=True)
        | Q(claimed_by=member)
        | Q(claimed_until__lte=DbNow())
        | Q(claimed_by__is_active=False)
        | Q(claimed_by__person__is_active=False)
    )
    if not ReviewRequest.objects.filter(free, pk=row.pk).exists():
        holder = row.claimed_by.person.name if row.claimed_by else ""
        raise NotYours(f"{holder} has claimed this request.", by=holder)
    until = now() + timedelta(seconds=settings.CLAIM_SECONDS)
    fresh = row.claimed_by_id != member.pk
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
            data=RequestClaimed(number=row.number),
        )
    return row
