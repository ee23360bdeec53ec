"""A reviewer gives a request to a colleague by name: it is as if that one had claimed it, and they are written to."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid
from reviewhub.core.text import check_text
from reviewhub.reviews.errors import NotYours
from reviewhub.reviews.holder import holder
from reviewhub.reviews.involved import involved
from reviewhub.reviews.kinds import RequestHandedOver
from reviewhub.reviews.lock import check_open, lock_request
from reviewhub.reviews.models import Comment, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import may_vote, tally
from reviewhub.reviews.seating import seating
from reviewhub.reviews.targets import request_target
from reviewhub.reviews.turn import deciders_in, managers_of, send
from reviewhub.reviews.vote import votes_of

CANNOT = {
    "four_eyes": "has a hand in this call, and four eyes are needed",
    "not_asked": "is in no team that is asked",
    "not_yet": "is asked later",
}


def colleagues(row: ReviewRequest, *, but: Member) -> QuerySet[Member]:
    """Whoever else may decide the request, as far as teams say."""
    found = deciders_in(row.teams.values_list("pk", flat=True))
    if row.asks_managers:
        found = (found | managers_of(row.workspace_id).distinct()).distinct()
    return found.exclude(pk=but.pk).select_related("person").order_by("person__name", "pk")


@transaction.atomic
def hand_over(
    *, request_id: uuid.UUID, member: Member, to_id: uuid.UUID, note: str, actor: Actor
) -> ReviewRequest:
    """Claims a pending request for a colleague, for `settings.CLAIM_SECONDS` from now; `note` becomes a comment.

    Raises:
        NotYours: somebody else's claim still holds (names who).
        NotAnyMore: this person may not decide the request any more.
        Invalid: at `/to` when that one may not decide it, or not now.
    """
    check_text(note, path="/note")
    row = lock_request(request_id).request
    still_may(actor, Action.REQUEST_CLAIM, request_target(row))
    check_open(row)
    held_by = holder(row)
    if held_by is not None and held_by.pk != member.pk:
        raise NotYours(f"{held_by.person.name} has claimed this request.", by=held_by.person.name)
    to = colleagues(row, but=member).filter(pk=to_id).first()
    if to is None:
        raise Invalid.at("/to", "Choose somebody else who may decide this request.", "not_found")
    _check_can(row, to)
    until = now() + timedelta(seconds=settings.CLAIM_SECONDS)
    ReviewRequest.objects.filter(pk=row.pk).update(claimed_by=to, claimed_until=until)
    row.claimed_by, row.claimed_until = to, until
    if note:
        Comment.objects.create(request=row, member=member, name=actor.name, text=note)
    send(row, Member.objects.filter(pk=to.pk), why=f"From {actor.name}")
    record(
        "request.handed_over",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        subject_id=to.pk,
        data=RequestHandedOver(number=row.number, to=to.person.name, note=note, sentence=row.plain_sentence),
    )
    return row


def _check_can(row: ReviewRequest, to: Member) -> None:
    """Refuses to give it to somebody whose approval would not be taken. Raises Invalid."""
    if row.kind != ReviewRequest.Kind.APPROVAL:
        return
    stored = Stored.model_validate_json(row.requirement)
    barred = may_vote(
        stored.requirement,
        member_id=to.pk,
        verdict="approve",
        version=row.version,
        involved=involved(row, stored.requirement),
        seats=seating(stored=stored, member=to).seats,
        turn=tally(stored.requirement, votes_of(row), version=row.version).turn,
    )
    if barred is not None and barred.code in CANNOT:
        raise Invalid.at("/to", f"{to.person.name} {CANNOT[barred.code]}.", barred.code)
