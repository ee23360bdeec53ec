"""What no rule takes away. Read under the locks of the run's branches, so that nobody adds to it meanwhile."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from django.db.models import QuerySet

from reviewhub.checkpoints.models import ChildHead, Pin
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import FollowUp, PostReview, ReviewRequest
from reviewhub.reviews.states import FollowUpState, PostReviewState, RequestState
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import Pause, ToolCall
from reviewhub.toolcalls.states import CallState, PauseState

OPEN_CALLS: Final = (
    CallState.PROPOSED,
    CallState.WAITING,
    CallState.ALLOWED,
    CallState.STARTED,
    CallState.UNKNOWN,
)
"""Calls that may still act, or of which somebody has to say whether they did."""


@dataclass(frozen=True)
class Pins:
    """Ids of checkpoints. `needed`: by something open, or by a person who pinned it; `pinned`: by the run as such."""

    needed: frozenset[uuid.UUID]
    pinned: frozenset[uuid.UUID]


def pins_of(run_id: uuid.UUID) -> Pins:
    """What holds checkpoints of a run.

    Needed: where a pause waits, a call is not over, a request is pending, a waking is due, a look afterwards is
    still to come, or something follows a flag; and explicit pins. Pinned: the head of each branch, each point that a
    branch was forked from, where a checkpoint of its parent pins a child run, and each point on which people decided,
    which the record names.
    """
    branches = Branch.objects.filter(run_id=run_id).values_list("head", "fork_of")
    asked = ReviewRequest.objects.filter(run_id=run_id)
    pinned = chain(
        chain.from_iterable(branches),
        _at(ChildHead.objects.filter(head__run_id=run_id), "head"),
        _at(asked, "tool_call__checkpoint", "tool_call__pause__checkpoint"),
    )
    return Pins(needed=_ids(_needed(run_id)), pinned=_ids(pinned))


def open_things(run_id: uuid.UUID) -> list[str]:
    """What of a run is still open, in words; empty when nothing is."""
    counts = {
        "pending requests": ReviewRequest.objects.filter(run_id=run_id, state=RequestState.PENDING).count(),
        "tool calls that are not over": ToolCall.objects.filter(run_id=run_id, state__in=OPEN_CALLS).count(),
        "wakings": Resumption.objects.open().filter(branch__run_id=run_id).count(),
        "looks afterwards that are still to come": PostReview.objects.filter(
            run_id=run_id, state=PostReviewState.DRAWN
        ).count(),
        "follow-ups of a flag": _following(run_id).count(),
    }
    return [f"{count} {words}" for words, count in counts.items() if count]


def _needed(run_id: uuid.UUID) -> chain[Any]:
    waiting = Pause.objects.filter(run_id=run_id, state=PauseState.WAITING)
    calls = ToolCall.objects.filter(run_id=run_id, state__in=OPEN_CALLS)
    pending = ReviewRequest.objects.filter(run_id=run_id, state=RequestState.PENDING)
    wakings = Resumption.objects.open().filter(branch__run_id=run_id)
    drawn = PostReview.objects.filter(run_id=run_id, state=PostReviewState.DRAWN)
    return chain(
        _at(waiting, "checkpoint"),
        _at(calls, "checkpoint", "pause__checkpoint"),
        _at(pending, "tool_call__checkpoint", "tool_call__pause__checkpoint"),
        _at(wakings, "pause__checkpoint"),
        _at(drawn, "tool_call__checkpoint"),
        _at(_following(run_id), "post_review__tool_call__checkpoint"),
        _at(Pin.objects.filter(run_id=run_id), "checkpoint"),
    )


def _following(run_id: uuid.UUID) -> QuerySet[FollowUp]:
    """What follows a flag and is still open."""
    return FollowUp.objects.filter(post_review__run_id=run_id, state=FollowUpState.OPEN)


def _at(rows: QuerySet[Any], *names: str) -> chain[Any]:
    return chain.from_iterable(rows.order_by().values_list(*names))


def _ids(found: chain[Any]) -> frozenset[uuid.UUID]:
    return frozenset(one for one in found if one is not None)
