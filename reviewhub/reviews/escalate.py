"""Nobody answers: the next step of the escalation asks more people. It takes no vote and no right from anybody."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction

from reviewhub.audit.record import record
from reviewhub.core.actors import TIMEOUT
from reviewhub.core.clock import DbNow
from reviewhub.policies.requirement import Step
from reviewhub.reviews.kinds import RequestEscalated
from reviewhub.reviews.lock import IN_TIME, lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import StandIn, Stored
from reviewhub.reviews.share import share
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.turn import managers_of, send, tell
from reviewhub.reviews.vote import tallied

BATCH = 200
DUE = {"state": RequestState.PENDING, "escalate_at__lte": DbNow()}


def due() -> list[uuid.UUID]:
    """Ids of pending requests whose next step is due, the oldest first."""
    rows = ReviewRequest.objects.filter(IN_TIME, **DUE).order_by("escalate_at")
    return list(rows.values_list("pk", flat=True)[:BATCH])


@transaction.atomic
def escalate(*, request_id: uuid.UUID) -> bool:
    """Takes one step; false when it is not due (any more). Delivering this twice, or late, takes one step."""
    row = lock_request(request_id).request
    if not ReviewRequest.objects.filter(IN_TIME, pk=row.pk, **DUE).exists():
        return False
    stored = Stored.model_validate_json(row.requirement)
    step, team = stored.requirement.escalation[row.escalated], stored.step_teams[row.escalated]
    stages = tuple(
        at
        for at, stage in enumerate(stored.requirement.stages)
        if not step.for_teams or stage.team in step.for_teams
    )
    stand_in = StandIn(name=step.to, team=team, stages=stages)
    stored = stored.model_copy(update={"stand_ins": (*stored.stand_ins, stand_in)})
    _keep(row, stored, step)
    tallied(row, stored)
    if team is not None:
        share(row, [team])
    record(
        "request.escalated",
        workspace_id=row.workspace_id,
        actor=TIMEOUT,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=RequestEscalated(number=row.number, step=row.escalated, to=step.to, waited_for=row.waits_for),
    )
    if team is not None:
        tell(row, [team], why="Escalated")
    else:
        send(row, managers_of(row.workspace_id), why="Escalated")
    return True


def _keep(row: ReviewRequest, stored: Stored, step: Step) -> None:
    """The step is taken; the next one is due as much later as the ladder says."""
    ladder = stored.requirement.escalation
    done = row.escalated + 1
    following = ladder[done].after_seconds - step.after_seconds if done < len(ladder) else None
    fields: dict[str, Any] = {
        "requirement": stored.model_dump_json(),
        "escalated": done,
        "escalate_at": row.escalate_at + timedelta(seconds=following)
        if row.escalate_at is not None and following is not None
        else None,
        "asks_managers": row.asks_managers or step.managers,
    }
    ReviewRequest.objects.filter(pk=row.pk).update(**fields)
    row.refresh_from_db()
