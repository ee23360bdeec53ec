"""A member needs one of their views no more."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.delegate import lock_members
from reviewhub.accounts.kinds import ViewRemoved
from reviewhub.accounts.models import Member, SavedView
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import NotFound


@transaction.atomic
def remove_view(*, view_id: uuid.UUID, member: Member, actor: Actor) -> SavedView:
    """Removes a view of `member`'s own, also of a page that they may read no more.

    Raises:
        NotFound: it is none of theirs.
        NotAnyMore: they are no active member any more.
    """
    lock_members(member.pk)
    still_may(actor, Action.QUEUE_READ, Target(workspace_id=member.workspace_id))
    row = SavedView.objects.filter(pk=view_id, member=member).first()
    if row is None:
        raise NotFound("There is no such view.")
    SavedView.objects.filter(pk=row.pk).delete()
    record(
        "view.removed",
        workspace_id=row.workspace_id,
        actor=actor,
        subject_id=row.pk,
        data=ViewRemoved(name=row.name, page=row.page),
    )
    return row
