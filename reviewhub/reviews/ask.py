"""A reviewer asks the agent something; the request stays as it is."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.text import check_text
from reviewhub.reviews.kinds import RequestAsked
from reviewhub.reviews.lock import check_open, lock_request
from reviewhub.reviews.models import Question
from reviewhub.reviews.targets import request_target


@transaction.atomic
def ask(*, request_id: uuid.UUID, member: Member, text: str, actor: Actor) -> Question:
    """Puts a question to the agent of a pending request; its deadline and version do not change.

    Raises:
        AlreadyDecided, Expired: nobody waits for the answer any more.
    """
    check_text(text, path="/text")
    locked = lock_request(request_id)
    row = locked.request
    still_may(actor, Action.REQUEST_ASK, request_target(row))
    check_open(row)
    made = Question.objects.create(
        workspace_id=row.workspace_id,
        request=row,
        agent_id=row.agent_id,
        member=member,
        name=actor.name,
        text=text,
    )
    record(
        "request.asked",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        pause_id=locked.call.pause_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        subject_id=made.pk,
        data=RequestAsked(number=row.number, question=str(made.pk), text=text),
    )
    return made
