"""An agent answers what a reviewer asked."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Conflict
from reviewhub.reviews.kinds import RequestAnswered
from reviewhub.reviews.models import Question


class AlreadyAnswered(Conflict):
    """This question was answered before, with other words."""

    code = "already_answered"


@transaction.atomic
def answer(*, question_id: uuid.UUID, text: str, actor: Actor) -> Question:
    """Stores the answer once; the same words again change nothing.

    Raises:
        AlreadyAnswered: another answer is on record.
    """
    row = Question.objects.select_for_update(no_key=True).get(pk=question_id)
    target = Target(workspace_id=row.workspace_id, agent_id=row.agent_id)
    still_may(actor, Action.QUESTION_ANSWER, target)
    if row.answer is not None:
        if row.answer != text:
            raise AlreadyAnswered
        return row
    at = now()
    Question.objects.filter(pk=row.pk, answer__isnull=True).update(answer=text, answered_at=at)
    row.answer, row.answered_at = text, at
    record(
        "request.answered",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.request.run_id,
        request_id=row.request_id,
        agent_id=row.agent_id,
        subject_id=row.pk,
        data=RequestAnswered(number=row.request.number, question=str(row.pk), text=text),
    )
    return row
