"""A member's access ends. Called by `reviews.disable_member`, which also voids their open votes."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from reviewhub.accounts.admins import lock_member, require_another_admin
from reviewhub.accounts.kinds import MemberDisabled
from reviewhub.accounts.models import Member, Person, Role
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor


@transaction.atomic
def disable(*, member: Member, actor: Actor) -> Member:
    """Ends what `member` may do in its workspace, and every session of the person.

    Who belongs to another workspace too signs in again and finds that one only. Sockets end by the event.
    Somebody disabled already stays so, and nothing is recorded.

    Raises:
        LastAdmin: nobody else could edit people any more.
    """
    row = lock_member(member, actor)
    if not row.is_active:
        return row
    if row.role == Role.ADMIN:
        require_another_admin(row)
    row.is_active = False
    row.save(update_fields=["is_active"])
    Person.objects.filter(pk=row.person_id).update(session_epoch=F("session_epoch") + 1)
    record(
        "member.disabled",
        workspace_id=row.workspace_id,
        actor=actor,
        subject_id=row.pk,
        data=MemberDisabled(name=row.person.name),
    )
    return row
