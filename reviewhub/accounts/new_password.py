"""An admin makes a one-time password for somebody who lost theirs."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.admins import lock_member
from reviewhub.accounts.kinds import PasswordMade
from reviewhub.accounts.models import Member
from reviewhub.accounts.rules import one_time_password
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict


class BelongsElsewhere(Conflict):
    """This person belongs to other workspaces too, so nobody here may set their password."""

    code = "belongs_elsewhere"


@transaction.atomic
def new_password(*, member: Member, actor: Actor) -> str:
    """A one-time password for `member`, to be shown once; it ends all their sessions and must be changed at
    sign-in.

    Raises:
        BelongsElsewhere: with it an admin of one workspace would get into another one as somebody else.
    """
    row = lock_member(member, actor)
    if row.person.memberships.exclude(pk=row.pk).exists():
        raise BelongsElsewhere()
    password = one_time_password()
    row.person.set_password(password)
    row.person.must_change_password = True
    row.person.save(update_fields=["password", "must_change_password"])
    record(
        "member.password_made",
        workspace_id=row.workspace_id,
        actor=actor,
        subject_id=row.pk,
        data=PasswordMade(name=row.person.name),
    )
    return password
