"""A member joins and leaves teams."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from reviewhub.accounts.admins import lock_member
from reviewhub.accounts.kinds import MemberChanged
from reviewhub.accounts.models import Member, Team
from reviewhub.accounts.teams import check_teams, team_names
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor


@transaction.atomic
def set_teams(*, member: Member, teams: Sequence[Team], actor: Actor) -> Member:
    """Makes `teams` the teams of `member`; the same ones change and record nothing.

    Raises:
        Invalid: a team is of another workspace.
    """
    check_teams(teams, workspace_id=member.workspace_id)
    row = lock_member(member, actor)
    old = list(row.teams.all())
    if {team.pk for team in old} == {team.pk for team in teams}:
        return row
    row.teams.set(teams)
    record(
        "member.changed",
        workspace_id=row.workspace_id,
        actor=actor,
        subject_id=row.pk,
        data=MemberChanged(
            name=row.person.name,
            role=row.role,
            old_role=row.role,
            teams=team_names(teams),
            old_teams=team_names(old),
        ),
    )
    return row
