"""Whose team votes somebody may give in their place just now."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from reviewhub.accounts.models import Delegation, Member, Role
from reviewhub.core.clock import DbNow

DECIDING_ROLES = (Role.REVIEWER, Role.ADMIN)
IN_FORCE = Q(
    starts_at__lte=DbNow(),
    ends_at__gt=DbNow(),
    ended_at__isnull=True,
    member__is_active=True,
    member__person__is_active=True,
    member__role__in=DECIDING_ROLES,
)


@dataclass(frozen=True)
class Lent:
    """A member who lent their votes, and the teams they are in now: whoever leaves a team lends none of it."""

    member_id: uuid.UUID
    name: str
    email: str
    team_ids: frozenset[uuid.UUID]


def delegations_of(member: Member) -> QuerySet[Delegation]:
    """Those of their own, and those for whom they stand in; the latest first."""
    rows = Delegation.objects.filter(Q(member=member) | Q(to=member)).select_related(
        "member__person", "to__person"
    )
    return rows.order_by("-ends_at", "pk")


def lent_to(member: Member) -> list[Lent]:
    """Whose votes `member` may give now, by name; what was lent to somebody is not lent on."""
    if member.role not in DECIDING_ROLES:
        return []
    lenders = (
        Member.objects.filter(pk__in=in_force().filter(to=member).values("member_id"))
        .select_related("person")
        .prefetch_related("teams")
    )
    return [
        Lent(one.pk, one.person.name, one.person.email, frozenset(team.pk for team in one.teams.all()))
        for one in lenders.order_by("person__name", "pk")
    ]


def teams_lent_to(members: Collection[Member]) -> dict[uuid.UUID, frozenset[uuid.UUID]]:
    """The teams in which each of these members may vote for somebody else now; one query for all of them."""
    deciding = [one.pk for one in members if one.role in DECIDING_ROLES]
    found: dict[uuid.UUID, set[uuid.UUID]] = {}
    lent = in_force().filter(to__in=deciding, member__teams__isnull=False)
    for member, team in lent.values_list("to_id", "member__teams"):
        found.setdefault(member, set()).add(team)
    return {one.pk: frozenset(found.get(one.pk, ())) for one in members}


def in_force() -> QuerySet[Delegation]:
    """The delegations that hold by the database's clock."""
    return Delegation.objects.filter(IN_FORCE)
