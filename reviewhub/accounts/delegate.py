"""A member lets another vote in their place for a while."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db import transaction
from reviewhub_agents.wire.fields import time_text

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import VotesDelegated
from reviewhub.accounts.lent import DECIDING_ROLES
from reviewhub.accounts.models import Delegation, Member
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.display import moments
from reviewhub.core.errors import Invalid, NotFound

LONGEST = timedelta(days=366)
JUST_NOW = timedelta(minutes=5)
"""So long ago it may begin: forms take whole minutes, and take a while to be filled in. It begins now then."""


@transaction.atomic
def delegate(
    *, member: Member, to: Member, starts_at: datetime, ends_at: datetime, actor: Actor
) -> Delegation:
    """From `starts_at`, now at the earliest, until `ends_at` `to` may vote in the place of `member`, wherever that
    one's teams are asked.

    One member has one stand-in at a time. Both rows are locked, so whoever is disabled meanwhile lends and borrows
    nothing.

    Raises:
        NotAnyMore: who acts may not decide anything any more.
        Invalid: the times do not fit, the two are the same, or the other cannot decide anything.
    """
    rows = lock_members(member.pk, to.pk)
    still_may(actor, Action.VOTES_LEND, Target(workspace_id=member.workspace_id))
    lender, stand_in = rows[member.pk], rows.get(to.pk)
    if stand_in is None or stand_in.workspace_id != lender.workspace_id:
        raise NotFound("There is no such member.")
    if stand_in.pk == lender.pk:
        raise Invalid.at("/to", "Choose somebody else than yourself.")
    if not (stand_in.is_active and stand_in.person.is_active and stand_in.role in DECIDING_ROLES):
        raise Invalid.at("/to", f"{stand_in.person.name} cannot decide anything.")
    at = now()
    if starts_at < at - JUST_NOW:
        raise Invalid.at("/starts_at", "It begins in the past; it can begin now at the earliest.")
    starts_at = max(starts_at, at)
    _check_times(lender, starts_at, ends_at)
    made = Delegation.objects.create(
        workspace_id=lender.workspace_id, member=lender, to=stand_in, starts_at=starts_at, ends_at=ends_at
    )
    record(
        "votes.delegated",
        workspace_id=lender.workspace_id,
        actor=actor,
        subject_id=lender.pk,
        data=VotesDelegated(
            name=lender.person.name,
            to=stand_in.person.name,
            starts_at=time_text(starts_at),
            ends_at=time_text(ends_at),
        ),
    )
    return made


def lock_members(*ids: uuid.UUID) -> dict[uuid.UUID, Member]:
    """These members, read anew and locked in the one order of these rows."""
    rows = Member.objects.filter(pk__in=ids).select_for_update(of=("self",), no_key=True).order_by("pk")
    return {row.pk: row for row in rows.select_related("person")}


def _check_times(lender: Member, starts_at: datetime, ends_at: datetime) -> None:
    if ends_at <= starts_at:
        raise Invalid.at("/ends_at", "It has to end after it begins, and later than now.")
    if ends_at - starts_at > LONGEST:
        raise Invalid.at("/ends_at", f"It can last {LONGEST.days} days at most.")
    others = Delegation.objects.filter(
        member=lender, ended_at__isnull=True, starts_at__lt=ends_at, ends_at__gt=starts_at
    ).select_related("to__person")
    if other := others.first():
        raise Invalid.at(
            "/starts_at",
            f"{other.to.person.name} votes in your place from {moments.said(other.starts_at)} until "
            f"{moments.said(other.ends_at)}; end that first.",
        )
