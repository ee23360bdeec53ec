"""A new team."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import TeamMade
from reviewhub.accounts.models import Team, Workspace
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.rules import clean_name
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict


class NameTaken(Conflict):
    """This name is taken here."""

    code = "name_taken"


def make_team(*, workspace: Workspace, name: str, actor: Actor) -> Team:
    """A team without members.

    Raises:
        Invalid: the name cannot be taken.
        NameTaken: another team has it, be it in other letter case.
    """
    clean = clean_name(name)
    try:
        with transaction.atomic():
            still_may(actor, Action.PEOPLE_EDIT, Target(workspace_id=workspace.pk))
            team = Team.objects.create(workspace=workspace, name=clean)
            record(
                "team.made",
                workspace_id=workspace.pk,
                actor=actor,
                subject_id=team.pk,
                data=TeamMade(name=clean),
            )
    except IntegrityError as error:
        raise NameTaken() from error
    return team
