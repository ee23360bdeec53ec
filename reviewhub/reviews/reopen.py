"""Somebody takes a verdict on what ran unasked back: it waits for a look again."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.reviews.errors import HasFollowUps
from reviewhub.reviews.kinds import PostReviewReopened
from reviewhub.reviews.lock import check_not_erased, lock_post_review
from reviewhub.reviews.models import PostReview
from reviewhub.reviews.states import POST_REVIEW_EDGES, PostReviewState
from reviewhub.reviews.targets import post_review_target


@transaction.atomic(durable=True)
def reopen(*, call_id: uuid.UUID, actor: Actor) -> PostReview:
    """Takes the verdict back; what it was stays on record. One that nobody has looked at stays as it is.

    Raises:
        HasFollowUps: something followed the flag.
        RunErased: what the run held was erased.
        NotAnyMore: the person may not look at this any more.
    """
    row = lock_post_review(call_id).row
    still_may(actor, Action.POST_REVIEW_GRADE, post_review_target(row))
    check_not_erased(row)
    if row.state == PostReviewState.DRAWN:
        return row
    if row.follow_ups.exists():
        raise HasFollowUps
    before = PostReviewReopened(tool=row.tool_name, verdict=row.state, severity=row.severity, note=row.note)
    move(
        row,
        to=PostReviewState.DRAWN,
        table=POST_REVIEW_EDGES,
        severity="",
        note="",
        member_id=None,
        member_name="",
        reviewed_at=None,
    )
    record(
        "post_review.reopened",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        agent_id=row.agent_id,
        subject_id=row.tool_call_id,
        data=before,
    )
    return row
