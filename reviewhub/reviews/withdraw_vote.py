"""Somebody takes back their vote while the request is open."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.reviews.errors import NoVote
from reviewhub.reviews.kinds import VoteWithdrawn
from reviewhub.reviews.lock import check_open, lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.targets import request_target
from reviewhub.reviews.vote import tallied


@transaction.atomic
def withdraw_vote(*, request_id: uuid.UUID, member: Member, actor: Actor) -> ReviewRequest:
    """Makes the member's vote void; they may vote anew. The version that an edit made stays.

    Raises:
        AlreadyDecided, Expired: it is too late.
        NotAnyMore: this person may not decide the request any more.
        NoVote: there is none that counts.
    """
    locked = lock_request(request_id)
    row = locked.request
    still_may(actor, Action.REQUEST_DECIDE, request_target(row))
    check_open(row)
    vote = row.reviews.filter(member=member, voided_at__isnull=True).first()
    if vote is None:
        raise NoVote
    row.reviews.filter(pk=vote.pk).update(voided_at=now(), voided_because="taken back")
    stored = Stored.model_validate_json(row.requirement)
    tally = tallied(row, stored)
    record(
        "vote.withdrawn",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        pause_id=locked.call.pause_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=VoteWithdrawn(
            number=row.number,
            verdict=vote.verdict,
            version=vote.version,
            approvals=row.approvals,
            needed=tally.needed,
            sentence=row.plain_sentence,
        ),
    )
    return row
