"""A member ends early that another votes in their place."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.delegate import lock_members
from reviewhub.accounts.kinds import VotesTakenBack
from reviewhub.accounts.models import Delegation, Member
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import NotFound


@transaction.atomic
def take_back(*, delegation_id: uuid.UUID, member: Member, actor: Actor) -> Delegation:
    """Ends a delegation of `member`'s own. One that is over already stays as it is; votes that were given stay.

    Raises:
        NotFound: it is none of theirs.
    """
    found = Delegation.objects.select_related("to__person").filter(pk=delegation_id, member=member).first()
    if found is None:
        raise NotFound("There is no such delegation.")
    # The stand-in's row: a vote of theirs that is under way is counted before this, or refused after it.
    lock_members(member.pk, found.to_id)
    still_may(actor, Action.VOTES_LEND, Target(workspace_id=member.workspace_id))
    at = now()
    ended = Delegation.objects.filter(pk=found.pk, ended_at__isnull=True, ends_at__gt=at).update(ended_at=at)
    if ended:
        record(
            "votes.taken_back",
            workspace_id=found.workspace_id,
            actor=actor,
            subject_id=member.pk,
            data=VotesTakenBack(name=member.person.name, to=found.to.person.name),
        )
        found.refresh_from_db()
    return found
