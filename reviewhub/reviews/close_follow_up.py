"""Somebody has seen to what followed a flag."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.text import check_text
from reviewhub.core.transitions import move
from reviewhub.reviews.kinds import FollowUpClosed
from reviewhub.reviews.lock import check_not_erased, lock_post_review
from reviewhub.reviews.models import FollowUp
from reviewhub.reviews.states import FOLLOW_UP_EDGES, FollowUpState
from reviewhub.reviews.targets import post_review_target
from reviewhub.toolcalls.locks import lock


@transaction.atomic
def close_follow_up(*, follow_up_id: uuid.UUID, note: str, actor: Actor) -> FollowUp:
    """Closes one; one that is closed already stays as it is.

    Raises:
        RunErased: what the run held was erased.
        NotAnyMore: the person may not look at this any more.
    """
    check_text(note, path="/note")
    call_id = FollowUp.objects.values_list("post_review__tool_call_id", flat=True).get(pk=follow_up_id)
    row = lock_post_review(call_id).row
    still_may(actor, Action.POST_REVIEW_GRADE, post_review_target(row))
    one = lock(FollowUp.objects.filter(pk=follow_up_id)).get()
    if one.state == FollowUpState.DONE:
        return one
    check_not_erased(row)
    move(
        one,
        to=FollowUpState.DONE,
        table=FOLLOW_UP_EDGES,
        done_at=clock.now(),
        done_by_name=actor.name[:200],
        done_note=note,
    )
    record(
        "post_review.follow_up_closed",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        agent_id=row.agent_id,
        subject_id=row.tool_call_id,
        data=FollowUpClosed(tool=row.tool_name, follow_up=one.kind, note=note),
    )
    return one
