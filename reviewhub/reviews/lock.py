"""A request with everything above it, locked in order, and the checks that every answer needs."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from reviewhub_agents.wire.fields import time_text

from reviewhub.core.clock import DbNow
from reviewhub.core.errors import NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.reviews.errors import AlreadyDecided, Changed, Expired, RunErased
from reviewhub.reviews.models import PostReview, ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Run
from reviewhub.toolcalls.locks import Locked, lock, lock_below, lock_call

IN_TIME = Q(deadline_at__isnull=True) | Q(deadline_at__gt=DbNow())


@dataclass
class LockedRequest(Locked):
    """Branch, pause, call and request, all locked."""

    request: ReviewRequest


@dataclass
class LockedPostReview(Locked):
    """Branch, pause (if there is one), call and its later look, all locked."""

    row: PostReview


def lock_request(request_id: uuid.UUID) -> LockedRequest:
    """The request as it is now, locked below its branch, pause and call.

    Raises:
        NotFound: there is no such request.
    """
    rows = ReviewRequest.objects.filter(pk=request_id)
    ids = one_or_none(rows.values_list("tool_call__branch_id", "tool_call__pause_id", "tool_call_id"))
    if ids is None:
        raise NotFound
    above = lock_below(*ids)
    row = lock(rows).get()
    row.tool_call = above.call
    return LockedRequest(branch=above.branch, pause=above.pause, call=above.call, request=row)


def lock_post_review(call_id: uuid.UUID) -> LockedPostReview:
    """The later look at a call as it is now, locked below the call, its pause and its branch.

    Raises:
        NotFound: there is no such call, or it was not drawn.
    """
    above = lock_call(call_id)
    row = one_or_none(lock(PostReview.objects.filter(tool_call_id=call_id)))
    if row is None:
        raise NotFound
    return LockedPostReview(branch=above.branch, pause=above.pause, call=above.call, row=row)


def check_open(row: ReviewRequest) -> None:
    """Refuses a request that is final or whose deadline has passed by the database's clock.

    Raises:
        RunErased: what its run held was erased.
        AlreadyDecided: with who, when and the state it is in.
        Expired: no sweep has come by yet, but the time is over.
    """
    if row.state != RequestState.PENDING:
        # With a pending request no run is erased.
        check_not_erased(row)
        if row.state == RequestState.EXPIRED:
            raise Expired(**final_facts(row))
        how = row.state
        if row.edited_by_name not in ("", row.decided_by_name):
            how = f"approved as changed by {row.edited_by_name}"
        raise AlreadyDecided(f"{row.decided_by_name} already decided this: {how}.", **final_facts(row))
    if not ReviewRequest.objects.filter(IN_TIME, pk=row.pk).exists():
        raise Expired(state=row.state, deadline_at=time_text(row.deadline_at) if row.deadline_at else None)


def check_not_erased(row: ReviewRequest | PostReview) -> None:
    """Refuses to add anything to something whose run was erased; the caller holds the lock of its branch.

    What is written while an erasure is under way is erased with the rest: it takes the same lock, step by step.

    Raises:
        RunErased: with when.
    """
    at = Run.objects.filter(pk=row.run_id).values_list("erased_at", flat=True).get()
    if at is not None:
        raise RunErased(erased_at=time_text(at))


def check_shown(row: ReviewRequest, *, version: int, digest: str) -> None:
    """Refuses an answer to something else than what the call is now.

    Raises:
        Changed: with the current version and digest.
    """
    if (row.version, row.digest) != (version, digest):
        raise Changed(state=row.state, version=row.version, digest=row.digest)


def final_facts(row: ReviewRequest) -> dict[str, Any]:
    """Who ended the request, when and how; for a 409."""
    return {
        "state": row.state,
        "by": row.decided_by_name,
        **({"edited_by": row.edited_by_name} if row.edited_by_name else {}),
        "decided_at": time_text(row.decided_at) if row.decided_at else None,
        "version": row.version,
    }
