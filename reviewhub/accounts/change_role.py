"""A member gets another role."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.admins import lock_member, require_another_admin
from reviewhub.accounts.kinds import MemberChanged
from reviewhub.accounts.models import Member, Role
from reviewhub.accounts.teams import team_names
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid


@transaction.atomic
def change_role(*, member: Member, role: str, actor: Actor) -> Member:
    """Gives `member` another role; the same one changes and records nothing.

    Raises:
        Invalid: there is no such role.
        LastAdmin: nobody else could edit people any more.
    """
    if role not in Role.values:
        raise Invalid.at("/role", f"The role must be one of {', '.join(Role.values)}.")
    row = lock_member(member, actor)
    old = row.role
    if old == role:
        return row
    if old == Role.ADMIN:
        require_another_admin(row)
    row.role = role
    row.save(update_fields=["role"])
    names = team_names(list(row.teams.all()))
    record(
        "member.changed",
        workspace_id=row.workspace_id,
        actor=actor,
        subject_id=row.pk,
        data=MemberChanged(name=row.person.name, role=role, old_role=old, teams=names, old_teams=names),
    )
    return row
