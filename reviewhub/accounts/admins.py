"""A workspace keeps at least one admin who can sign in."""

from __future__ import annotations

from django.db import connection

from reviewhub.accounts.models import Member, Role
from reviewhub.core.errors import Conflict


class LastAdmin(Conflict):
    """This is the last admin of the workspace. Make somebody else admin first."""

    code = "last_admin"


def lock_member(member: Member) -> Member:
    """`member` read anew and locked, together with all admins of its workspace, for the running transaction.

    Without the lock two admins who demote each other at the same moment would leave none.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a member is locked only inside a transaction")
    admins = Member.objects.filter(workspace_id=member.workspace_id, role=Role.ADMIN)
    everybody = admins | Member.objects.filter(pk=member.pk)
    locked = everybody.select_for_update(of=("self",), no_key=True).order_by("pk")
    return next(row for row in locked.select_related("person", "workspace") if row.pk == member.pk)


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
