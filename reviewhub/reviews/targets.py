"""What the permission function is asked about: requests, the runs that they belong to, and these runs' checkpoints."""

from __future__ import annotations

import uuid

from reviewhub.accounts.permissions import Action, Caller, Target, require
from reviewhub.checkpoints.addressed import addressed, run_of
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.errors import NotFound
from reviewhub.reviews.models import PostReview, ReviewRequest
from reviewhub.runs.models import Run


def request_target(row: ReviewRequest) -> Target:
    """A request belongs to every team that its requirement names or once named."""
    teams = frozenset(team.pk for team in row.teams.all())
    return Target(
        workspace_id=row.workspace_id,
        team_ids=teams,
        agent_id=row.agent_id,
        asks_managers=row.asks_managers,
    )


def post_review_target(row: PostReview) -> Target:
    """What ran unasked belongs to its agent's team."""
    return Target(
        workspace_id=row.workspace_id, team_ids=frozenset({row.agent.team_id}), agent_id=row.agent_id
    )


def run_target(run: Run) -> Target:
    """A run belongs to its agent's team and to the teams of its requests."""
    through = ReviewRequest.teams.through
    asked = through.objects.filter(reviewrequest__run_id=run.pk).values_list("team_id", flat=True)
    return Target(
        workspace_id=run.workspace_id,
        team_ids=frozenset(asked.distinct()) | {run.agent.team_id},
        agent_id=run.agent_id,
    )


def checkpoint_for(caller: Caller, checkpoint_id: uuid.UUID) -> tuple[Checkpoint, Target]:
    """A checkpoint that the caller may read, and what the permission function is asked about.

    Raises:
        NotFound: their workspace never had one of this id, or they may not know of its run.
        CheckpointRemoved: there was one.
    """
    run = run_of(checkpoint_id, runs=Run.objects.filter(workspace_id=caller.workspace_id))
    target = run_target(run)
    try:
        require(caller, Action.CHECKPOINT_READ, target)
    except NotFound:
        raise NotFound("There is no such checkpoint.") from None
    return addressed(checkpoint_id, runs=Run.objects.filter(pk=run.pk)), target
