"""A member is disabled: their votes on requests that are still open count no more."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.disable import disable
from reviewhub.accounts.lent import DECIDING_ROLES
from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import TryAgain
from reviewhub.reviews.kinds import VoteVoided
from reviewhub.reviews.lock import lock_request
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.seats import Approval, Seat, seated
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
    """Pending requests whose stages ask for more people than their teams have who may decide; each approves once."""
    found: list[ReviewRequest] = []
    able: dict[str, bool] = {}
    people = _deciders(workspace_id)
    pending = ReviewRequest.objects.filter(workspace_id=workspace_id, state=RequestState.PENDING)
    for row in pending.order_by("number"):
        if row.requirement not in able:
            able[row.requirement] = _can_pass(Stored.model_validate_json(row.requirement), people)
        if not able[row.requirement]:
            found.append(row)
    return found


def _deciders(workspace_id: uuid.UUID) -> list[tuple[uuid.UUID, frozenset[uuid.UUID]]]:
    rows = Member.objects.filter(workspace_id=workspace_id, is_active=True, person__is_active=True)
    able = rows.filter(role__in=DECIDING_ROLES).prefetch_related("teams")
    return [(row.pk, frozenset(team.pk for team in row.teams.all())) for row in able]


def _can_pass(stored: Stored, people: list[tuple[uuid.UUID, frozenset[uuid.UUID]]]) -> bool:
    """Whether all stages are complete when everybody approves who is in a team of theirs."""
    standing_in = [(one.team, one.stages) for one in stored.stand_ins if one.team is not None]
    approvals = []
    for member, teams in people:
        stages = {at for at, team in enumerate(stored.teams) if team in teams}
        stages |= {at for team, added in standing_in if team in teams for at in added}
        if stages:
            approvals.append(Approval(member_id=member, seats=tuple(Seat(at) for at in sorted(stages))))
    needed = stored.requirement
    return sum(map(len, seated(needed, approvals))) == needed.approvals
