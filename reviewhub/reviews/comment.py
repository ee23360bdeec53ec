"""A member writes something on a request, for the other reviewers."""

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
from reviewhub.reviews.kinds import RequestCommented
from reviewhub.reviews.lock import check_not_erased, lock_request
from reviewhub.reviews.models import Comment
from reviewhub.reviews.targets import request_target


@transaction.atomic
def comment(*, request_id: uuid.UUID, member: Member, text: str, actor: Actor, key: str = "") -> Comment:
    """Adds a comment, also to a request that is final; it changes nothing about the request.

    Args:
        key: the idempotency key; a repeat finds what it wrote. Without one every comment is another one.

    Raises:
        RunErased: what its run held was erased.
        IdempotencyConflict: the key was used for another text.
    """
    check_text(text, path="/text")
    body_digest = canonical.body_digest({"text": text})
    kept = claim(scope=f"comment:{member.pk}:{request_id}", key=key, body_digest=body_digest) if key else None
    if kept is not None and kept.answer is not None:
        return Comment.objects.get(pk=uuid.UUID(kept.answer))
    row = lock_request(request_id).request
    still_may(actor, Action.REQUEST_COMMENT, request_target(row))
    check_not_erased(row)
    made = Comment.objects.create(request=row, member=member, name=actor.name, text=text)
    record(
        "request.commented",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=RequestCommented(number=row.number, text=text),
    )
    if kept is not None:
        kept.keep(status=201, answer=str(made.pk))
    return made
