"""A request is put before teams: from then on they see it."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from reviewhub.accounts.models import Team
from reviewhub.reviews.models import Asker, ReviewRequest


def share(row: ReviewRequest, teams: Collection[uuid.UUID]) -> None:
    """Adds these teams to those that see the request; their filters know its agent and tool. None is taken away."""
    found = list(Team.objects.filter(pk__in=teams))
    row.teams.add(*found)
    Asker.objects.bulk_create(
        (Asker(team=team, agent_name=row.agent_name, tool_name=row.tool_name) for team in found),
        ignore_conflicts=True,
    )
