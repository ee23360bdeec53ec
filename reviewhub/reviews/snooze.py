"""A member puts a request off: out of their own queue until a time, or until it is another call."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import DbNow, now
from reviewhub.core.errors import Invalid
from reviewhub.reviews.kinds import RequestSnoozed, RequestUnsnoozed
from reviewhub.reviews.lock import check_open, lock_request
from reviewhub.reviews.models import ReviewRequest, Snooze
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.targets import request_target

SPANS = (
    (15, "15 minutes"),
    (60, "an hour"),
    (180, "3 hours"),
    (480, "8 hours"),
    (1440, "a day"),
    (4320, "3 days"),
)
LEAST_LEFT = timedelta(minutes=15)
"""How long before its deadline a request is in the queue again at the latest."""


def spans(row: ReviewRequest, at: datetime) -> list[tuple[int, str]]:
    """For how long the request can be put off now: minutes, and the same in words."""
    left = row.deadline_at - LEAST_LEFT - at if row.deadline_at else timedelta.max
    return [(minutes, words) for minutes, words in SPANS if timedelta(minutes=minutes) < left]


def snoozed_until(row: ReviewRequest, member: Member) -> datetime | None:
    """Until when the member has put the request off; None when it is in their queue."""
    kept = Snooze.objects.filter(request=row, member=member, version=row.version, until__gt=DbNow())
    return kept.values_list("until", flat=True).first()


def woken(*, since: datetime, until: datetime) -> QuerySet[Snooze]:
    """What was put off until a time after `since` and not after `until`, and still waits."""
    ended = Snooze.objects.filter(until__gt=since, until__lte=until, version=F("request__version"))
    return ended.filter(request__state=RequestState.PENDING)


@transaction.atomic
def snooze(*, request_id: uuid.UUID, member: Member, minutes: int, actor: Actor) -> Snooze | None:
    """Puts a pending request off for so many minutes, with 0 not any more; no one else's queue changes.

    Raises:
        AlreadyDecided, Expired: there is nothing to put off.
        Invalid: at `/minutes` when less than LEAST_LEFT would be left before the deadline.
    """
    row = lock_request(request_id).request
    still_may(actor, Action.REQUEST_READ, request_target(row))
    check_open(row)
    if minutes == 0:
        _end(row, member, actor)
        return None
    until = now() + timedelta(minutes=minutes)
    if row.deadline_at is not None and until > row.deadline_at - LEAST_LEFT:
        raise Invalid.at("/minutes", "The deadline is too near: 15 minutes before it at the latest.")
    kept, _ = Snooze.objects.update_or_create(
        request=row, member=member, defaults={"until": until, "version": row.version}
    )
    record(
        "request.snoozed",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=RequestSnoozed(number=row.number, until=f"{until:%Y-%m-%d %H:%M} UTC"),
    )
    return kept


def _end(row: ReviewRequest, member: Member, actor: Actor) -> None:
    gone, _ = Snooze.objects.filter(request=row, member=member).delete()
    if gone:
        record(
            "request.unsnoozed",
            workspace_id=row.workspace_id,
            actor=actor,
            run_id=row.run_id,
            request_id=row.pk,
            agent_id=row.agent_id,
            data=RequestUnsnoozed(number=row.number),
        )
