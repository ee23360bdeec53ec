"""A member is disabled: their votes on requests that are still open count no more."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.disable import disable
from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import TryAgain
from reviewhub.reviews.kinds import VoteVoided
from reviewhub.reviews.lock import lock_request
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.vote import tallied

# A member who votes all the time is still disabled: between two looks there is one lock to wait for.
ATTEMPTS = 20


def disable_member(*, member: Member, actor: Actor) -> list[ReviewRequest]:
    """Ends somebody's access, voids their open votes, and names the requests that nobody can decide any more.

    The requests are locked before the member, as whoever decides does it. Once the member is locked they vote no more,
    so what was locked then is looked at again: a vote that came in between is locked with the others the next time.

    Raises:
        LastAdmin: nobody else could edit people any more.
        TryAgain: the member votes faster than this can look.
    """
    for _ in range(ATTEMPTS):
        with transaction.atomic():
            locked = {request_id: lock_request(request_id).request for request_id in _voted(member)}
            disable(member=member, actor=actor)
            if locked.keys() >= set(_voted(member)):
                for row in locked.values():
                    _void(row, member, actor)
                return stranded(member.workspace_id)
            transaction.set_rollback(True)
    raise TryAgain


def _voted(member: Member) -> list[uuid.UUID]:
    """The open requests that they voted on, in the order in which their branches are locked."""
    votes = Review.objects.filter(
        member=member, voided_at__isnull=True, request__state=RequestState.PENDING
    ).order_by("request__branch_id", "request__tool_call_id")
    return list(votes.values_list("request_id", flat=True))


def _void(row: ReviewRequest, member: Member, actor: Actor) -> None:
    if row.state != RequestState.PENDING:
        return
    row.reviews.filter(member=member, voided_at__isnull=True).update(
        voided_at=now(), voided_because="member disabled"
    )
    tallied(row, Stored.model_validate_json(row.requirement))
    record(
        "vote.voided",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        subject_id=member.pk,
        data=VoteVoided(number=row.number, name=member.person.name, because="member disabled"),
    )


def stranded(workspace_id: uuid.UUID) -> list[ReviewRequest]:
    """Pending requests whose teams have fewer active members who may decide than approvals are needed."""
    found: list[ReviewRequest] = []
    able: dict[frozenset[uuid.UUID], int] = {}
    pending = ReviewRequest.objects.filter(workspace_id=workspace_id, state=RequestState.PENDING)
    for row in pending.order_by("number"):
        teams = frozenset(Stored.model_validate_json(row.requirement).teams)
        if teams not in able:
            able[teams] = (
                Member.objects.filter(teams__in=teams, is_active=True, person__is_active=True)
                .exclude(role="manager")
                .distinct()
                .count()
            )
        if able[teams] < row.approvals_needed:
            found.append(row)
    return found
