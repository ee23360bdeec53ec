"""A request is put before teams: from then on they see it."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from reviewhub.reviews.models import Asker, ReviewRequest


def share(row: ReviewRequest, teams: Collection[uuid.UUID]) -> None:
    """Adds these teams to those that see the request; their filters know its agent and tool. None is taken away."""
    seen_by = ReviewRequest.teams.through
    seen_by.objects.bulk_create(
        (seen_by(reviewrequest_id=row.pk, team_id=team) for team in dict.fromkeys(teams)),
        ignore_conflicts=True,
    )
    Asker.objects.bulk_create(
        (
            Asker(team_id=team, agent_name=row.agent_name, tool_name=row.tool_name)
            for team in dict.fromkeys(teams)
        ),
        ignore_conflicts=True,
    )
