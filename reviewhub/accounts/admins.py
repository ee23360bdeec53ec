"""A workspace keeps at least one admin who can sign in."""

from __future__ import annotations

from django.db import connection

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member, Role
from reviewhub.accounts.permissions import Action, Target
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict


class LastAdmin(Conflict):
    """This is the last admin of the workspace. Make somebody else admin first."""

    code = "last_admin"


def lock_member(member: Member, actor: Actor) -> Member:
    """`member` read anew and locked, together with all admins of its workspace, for the running transaction.

    Without the lock two admins who demote each other at the same moment would leave none. Whoever acts is locked with
    them, in the one order of these rows.

    Raises:
        NotAnyMore: `actor` edits people no more.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a member is locked only inside a transaction")
    admins = Member.objects.filter(workspace_id=member.workspace_id, role=Role.ADMIN)
    everybody = admins | Member.objects.filter(pk__in=[member.pk, *([actor.id] if actor.id else [])])
    locked = everybody.select_for_update(of=("self",), no_key=True).order_by("pk")
    rows = list(locked.select_related("person", "workspace"))
    still_may(actor, Action.PEOPLE_EDIT, Target(workspace_id=member.workspace_id))
    return next(row for row in rows if row.pk == member.pk)


def require_another_admin(member: Member) -> None:
    """Returns when an active admin other than `member` is left; call it after `lock_member`.

    Raises:
        LastAdmin: nobody else could edit people any more.
    """
    others = Member.objects.filter(
        workspace_id=member.workspace_id, role=Role.ADMIN, is_active=True, person__is_active=True
    ).exclude(pk=member.pk)
    if not others.exists():
        raise LastAdmin()
