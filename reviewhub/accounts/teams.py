"""Teams as they are handed to verbs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from reviewhub.accounts.models import Team
from reviewhub.core.errors import Invalid


def check_teams(teams: Sequence[Team], *, workspace_id: uuid.UUID) -> None:
    """Returns when every team is of the workspace.

    Raises:
        Invalid: one is of another workspace; said as if it were not there.
    """
    if any(team.workspace_id != workspace_id for team in teams):
        raise Invalid.at("/teams", "There is no such team here.")


def team_names(teams: Sequence[Team]) -> list[str]:
    """The names, sorted, as the record keeps them."""
    return sorted(team.name for team in teams)
