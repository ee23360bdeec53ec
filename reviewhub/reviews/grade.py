"""Somebody looked at an action that ran without waiting, and says what they found. It changes nothing about the run."""

from __future__ import annotations

from reviewhub_agents.wire.fields import time_text

from reviewhub.audit.record import record
from reviewhub.checkpoints.queries import hash_of
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.reviews.errors import AlreadyLookedAt
from reviewhub.reviews.kinds import PostReviewGraded
from reviewhub.reviews.lock import LockedPostReview, check_not_erased
from reviewhub.reviews.models import PostReview
from reviewhub.reviews.states import POST_REVIEW_EDGES, PostReviewState


def grade(*, locked: LockedPostReview, verdict: str, severity: str, note: str, actor: Actor) -> PostReview:
    """Writes the verdict (`fine`, `flagged` with a severity, `skipped`), in the caller's transaction.

    Raises:
        AlreadyLookedAt: somebody has said so before.
        RunErased: what the run held was erased.
    """
    row, call = locked.row, locked.call
    check_not_erased(row)
    if row.state != PostReviewState.DRAWN:
        raise AlreadyLookedAt(
            f"{row.member_name} has looked at this already: {row.state}.",
            state=row.state,
            by=row.member_name,
            decided_at=time_text(row.reviewed_at) if row.reviewed_at else None,
        )
    move(
        row,
        to=verdict,
        table=POST_REVIEW_EDGES,
        severity=severity,
        note=note,
        member_id=actor.id,
        member_name=actor.name[:200],
        reviewed_at=clock.now(),
    )
    record(
        "post_review.graded",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        agent_id=row.agent_id,
        subject_id=call.pk,
        data=PostReviewGraded(
            tool=row.tool_name,
            digest=call.digest,
            verdict=verdict,
            severity=severity,
            note=note,
            checkpoint=(hash_of(call.checkpoint_id) or "") if call.checkpoint_id else "",
        ),
    )
    return row
