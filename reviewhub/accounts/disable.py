"""A member's access ends. Called by `reviews.disable_member`, which also voids their open votes."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.admins import lock_member, require_another_admin
from reviewhub.accounts.kinds import MemberDisabled
from reviewhub.accounts.models import Member, Role
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now


@transaction.atomic
def disable(*, member: Member, actor: Actor) -> Member:
    """Ends what `member` may do in its workspace; none of their sessions of before counts there any more.

    In other workspaces their sessions go on: nobody here has a say there. Sockets end by the event.
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
    row.sessions_since = now()
    row.save(update_fields=["is_active", "sessions_since"])
    record(
        "member.disabled",
        workspace_id=row.workspace_id,
        actor=actor,
        subject_id=row.pk,
        data=MemberDisabled(name=row.person.name),
    )
    return row
