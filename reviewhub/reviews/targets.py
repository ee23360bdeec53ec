"""What the permission function is asked about: requests, and the runs that they belong to."""

from __future__ import annotations

from reviewhub.accounts.permissions import Target
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run


def request_target(row: ReviewRequest) -> Target:
    """A request belongs to every team that its requirement names or once named."""
    teams = frozenset(team.pk for team in row.teams.all())
    return Target(workspace_id=row.workspace_id, team_ids=teams, agent_id=row.agent_id)


def run_target(run: Run) -> Target:
    """A run belongs to its agent's team and to the teams of its requests."""
    through = ReviewRequest.teams.through
    asked = through.objects.filter(reviewrequest__run_id=run.pk).values_list("team_id", flat=True)
    return Target(
        workspace_id=run.workspace_id,
        team_ids=frozenset(asked.distinct()) | {run.agent.team_id},
        agent_id=run.agent_id,
    )
