"""Whose turn it is: kept on the request, and told to whoever is newly asked."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db.models import QuerySet

from reviewhub.accounts.lent import DECIDING_ROLES, in_force
from reviewhub.accounts.models import Member, Role
from reviewhub.accounts.zone import addresses_by_zone
from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM
from reviewhub.deliveries.queue_email import queue_email
from reviewhub.reviews.kinds import RequestTurn
from reviewhub.reviews.mail import waiting_mail
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import Tally


def waits_for(stored: Stored, tally: Tally) -> str:
    """The teams whose turn it is and who have not all approved yet, in words; empty when nobody is asked any more."""
    needed = stored.requirement
    names = (
        stage.team
        for at, stage in enumerate(needed.stages)
        if needed.turns[at] == tally.turn and len(tally.stages[at]) < stage.approvals
    )
    return " and ".join(dict.fromkeys(names))[:400]


def asks(stored: Stored, tally: Tally) -> str:
    """The same teams by their ids, and those that an escalation lets stand in for them."""
    needed = stored.requirement
    open_ = {
        at
        for at, stage in enumerate(needed.stages)
        if needed.turns[at] == tally.turn and len(tally.stages[at]) < stage.approvals
    }
    teams = [team for at, team in enumerate(stored.teams) if at in open_]
    teams += [one.team for one in stored.stand_ins if one.team is not None and open_.intersection(one.stages)]
    return "".join(f" {team} " for team in dict.fromkeys(teams))


def ask_next(row: ReviewRequest, stored: Stored, turn: int) -> None:
    """The turn before is complete: the teams of this one are written to, and the record says so."""
    teams = stored.asked_at(turn)
    needed = stored.requirement
    names = [stage.team for stage, at in zip(needed.stages, needed.turns, strict=True) if at == turn]
    record(
        "request.turn",
        workspace_id=row.workspace_id,
        actor=SYSTEM,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=RequestTurn(number=row.number, teams=list(dict.fromkeys(names))),
    )
    tell(row, teams)


def tell(row: ReviewRequest, teams: Collection[uuid.UUID], *, why: str = "") -> int:
    """One e-mail to everybody of these teams who may decide it; how many. `why` stands before the subject."""
    return send(row, deciders_in(teams), why=why)


def send(row: ReviewRequest, members: QuerySet[Member], *, why: str = "") -> int:
    """One e-mail to each of these people; how many."""
    many = 0
    for zone, addresses in addresses_by_zone(members.select_related("person")):
        subject, body = waiting_mail(row, zone)
        queue_email(
            workspace=row.workspace, to=addresses, subject=f"{why}: {subject}" if why else subject, body=body
        )
        many += len(addresses)
    return many


def deciders_in(teams: Collection[uuid.UUID]) -> QuerySet[Member]:
    """The active people of these teams who may decide, and whoever votes in the place of one of them now."""
    active = Member.objects.filter(is_active=True, person__is_active=True, role__in=DECIDING_ROLES)
    own = active.filter(teams__in=list(teams))
    standing_in = in_force().filter(member__in=own).values("to_id")
    return (own | active.filter(pk__in=standing_in)).distinct()


def managers_of(workspace_id: uuid.UUID) -> QuerySet[Member]:
    """The active managers."""
    return Member.objects.filter(
        workspace_id=workspace_id, role=Role.MANAGER, is_active=True, person__is_active=True
    )
