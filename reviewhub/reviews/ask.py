"""A reviewer asks the agent something; the request stays as it is."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.idempotency import claim
from reviewhub.core.text import check_text
from reviewhub.reviews.kinds import RequestAsked
from reviewhub.reviews.lock import check_open, lock_request
from reviewhub.reviews.models import Question
from reviewhub.reviews.targets import request_target


@transaction.atomic
def ask(*, request_id: uuid.UUID, member: Member, text: str, actor: Actor, key: str = "") -> Question:
    """Puts a question to the agent of a pending request; its deadline and version do not change.

    Args:
        key: the idempotency key; a repeat finds what it asked. Without one every question is another one.

    Raises:
        AlreadyDecided, Expired: nobody waits for the answer any more.
        IdempotencyConflict: the key was used for another text.
    """
    check_text(text, path="/text")
    body_digest = canonical.body_digest({"text": text})
    kept = claim(scope=f"ask:{member.pk}:{request_id}", key=key, body_digest=body_digest) if key else None
    if kept is not None and kept.answer is not None:
        return Question.objects.get(pk=uuid.UUID(kept.answer))
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
    if kept is not None:
        kept.keep(status=201, answer=str(made.pk))
    return made
