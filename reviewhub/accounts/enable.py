"""A disabled member comes back."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.admins import lock_member
from reviewhub.accounts.kinds import MemberEnabled
from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor


@transaction.atomic
def enable(*, member: Member, actor: Actor) -> Member:
    """Gives `member` back the role and teams it had. Voided votes stay void; twice changes nothing."""
    row = lock_member(member, actor)
    if row.is_active:
        return row
    row.is_active = True
    row.save(update_fields=["is_active"])
    record(
        "member.enabled",
        workspace_id=row.workspace_id,
        actor=actor,
        subject_id=row.pk,
        data=MemberEnabled(name=row.person.name),
    )
    return row
