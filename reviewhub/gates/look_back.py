"""People look back at what ran without waiting: a verdict, and what follows a flag. It stops no run and holds none."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db import transaction
from reviewhub_agents import wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.checkpoints.addressed import addressed
from reviewhub.checkpoints.fork import Beginning, beginning
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.idempotency import Claim, claim
from reviewhub.core.text import check_text
from reviewhub.gates.fork import fork_here
from reviewhub.gates.set_aside import setting_aside
from reviewhub.reviews.errors import NotFlagged
from reviewhub.reviews.follow_up import Following, follow_up
from reviewhub.reviews.grade import grade
from reviewhub.reviews.lock import LockedPostReview, check_not_erased, lock_post_review
from reviewhub.reviews.models import PostReview
from reviewhub.reviews.states import PostReviewState
from reviewhub.reviews.targets import post_review_target
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.locks import lock
from reviewhub.toolcalls.models import ToolCall


@dataclass(frozen=True)
class Correction:
    """A corrective branch, ready to be made."""

    checkpoint: Checkpoint
    body: wire.ForkBody
    first: Beginning


@setting_aside()
def look_back(
    *, call_id: uuid.UUID, body: wire.GradeBody, body_digest: str, key: str, actor: Actor
) -> PostReview:
    """Takes one person's verdict on a call that was drawn, together with what follows a flag. All of it or nothing.

    A repeat with the same idempotency key answers the same and changes nothing.

    Raises:
        AlreadyLookedAt: somebody has said so before.
        RunErased: what the run held was erased.
        NotAnyMore: the person may not look at this any more, or may not fork.
        Invalid, CheckpointRemoved, AgentStopped and what a fork raises: the follow-up cannot be; no verdict is taken.
    """
    check_text(body.note, path="/note")
    correction = _correction(call_id, body.follow_up, body, body.note)
    with transaction.atomic(durable=True):
        locked, kept = _begin(call_id, f"look:{actor.id}:{call_id}", key, body_digest, correction, actor)
        if kept.answer is not None:
            return locked.row
        severity = body.severity.value if body.severity else ""
        grade(locked=locked, verdict=body.verdict.value, severity=severity, note=body.note, actor=actor)
        if body.follow_up is not None:
            _follow(locked, Following(body.follow_up.value, to=body.to), correction, actor)
        kept.keep(status=200, answer="")
    return locked.row


@setting_aside()
def follow_back(
    *, call_id: uuid.UUID, body: wire.FollowUpBody, body_digest: str, key: str, actor: Actor
) -> PostReview:
    """Takes one more follow-up of a call that is flagged; a repeat changes nothing.

    Raises:
        NotFlagged: it is not flagged.
        RunErased, NotAnyMore, Invalid, CheckpointRemoved, AgentStopped: as for `look_back`.
    """
    check_text(body.note, path="/note")
    correction = _correction(call_id, body.kind, body, body.note)
    with transaction.atomic(durable=True):
        locked, kept = _begin(call_id, f"follow:{actor.id}:{call_id}", key, body_digest, correction, actor)
        if kept.answer is not None:
            return locked.row
        following = Following(body.kind.value, to=body.to, note=body.note)
        _follow(locked, following, correction, actor)
        kept.keep(status=201, answer="")
    return locked.row


def _begin(
    call_id: uuid.UUID,
    scope: str,
    key: str,
    body_digest: str,
    correction: Correction | None,
    actor: Actor,
) -> tuple[LockedPostReview, Claim]:
    kept = claim(scope=scope, key=key, body_digest=body_digest)
    if correction is not None:
        # The checkpoint may stand on another branch than the call: both are locked, in one order for everybody.
        of_call = ToolCall.objects.filter(pk=call_id).values_list("branch_id", flat=True).get()
        wanted = {of_call, correction.checkpoint.branch_id}
        list(lock(Branch.objects.filter(pk__in=wanted).order_by("pk")))
    locked = lock_post_review(call_id)
    still_may(actor, Action.POST_REVIEW_GRADE, post_review_target(locked.row))
    return locked, kept


def _correction(
    call_id: uuid.UUID,
    kind: wire.FollowUpKind | None,
    body: wire.GradeBody | wire.FollowUpBody,
    note: str,
) -> Correction | None:
    """Reads and packs what the new branch begins with; before the transaction, for it may take long."""
    if kind is not wire.FollowUpKind.FORK:
        return None
    call = ToolCall.objects.get(pk=call_id)
    if call.checkpoint_id is None:
        raise Invalid.at("/follow_up", "this call came without a checkpoint, so nothing can go on from there")
    checkpoint = addressed(call.checkpoint_id, runs=Run.objects.filter(pk=call.run_id))
    reason = note or "What ran without waiting was flagged."
    fork_body = wire.ForkBody(changes=body.changes, reason=reason)
    changes = [change.to_tree() for change in body.changes]
    first = beginning(checkpoint=checkpoint, changes=changes, reason=reason)
    return Correction(checkpoint, fork_body, first)


def _follow(
    locked: LockedPostReview, following: Following, correction: Correction | None, actor: Actor
) -> None:
    if correction is not None:
        check_not_erased(locked.row)
        if locked.row.state != PostReviewState.FLAGGED:
            raise NotFlagged
        branch, _ = fork_here(
            checkpoint=correction.checkpoint, body=correction.body, first=correction.first, actor=actor
        )
        following = Following(following.kind, branch=branch, note=following.note)
    follow_up(locked=locked, following=following, actor=actor)
