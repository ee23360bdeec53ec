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
from reviewhub.reviews.lock import check_not_erased
from reviewhub.reviews.models import Question, ReviewRequest
from reviewhub.toolcalls.locks import lock_branch


class AlreadyAnswered(Conflict):
    """This question was answered before, with other words."""

    code = "already_answered"


@transaction.atomic
def answer(*, question_id: uuid.UUID, text: str, actor: Actor) -> Question:
    """Stores the answer once; the same words again change nothing.

    Raises:
        AlreadyAnswered: another answer is on record.
        RunErased: what its run held was erased.
    """
    lock_branch(ReviewRequest.objects.values_list("branch_id", flat=True).get(questions=question_id))
    row = Question.objects.select_for_update(no_key=True).get(pk=question_id)
    target = Target(workspace_id=row.workspace_id, agent_id=row.agent_id)
    still_may(actor, Action.QUESTION_ANSWER, target)
    check_not_erased(row.request)
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
