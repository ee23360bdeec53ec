"""The reasons for rejections that a workspace presets, and what one adds to an answer."""

from __future__ import annotations

import uuid

from reviewhub_agents import wire

from reviewhub.core.errors import Invalid
from reviewhub.reviews.models import RejectReason


def reasons_of(workspace_id: uuid.UUID) -> list[RejectReason]:
    """All of them, in the order in which they are offered."""
    return list(RejectReason.objects.filter(workspace_id=workspace_id).order_by("place", "name"))


def with_reason(body: wire.DecideBody, *, workspace_id: uuid.UUID) -> wire.DecideBody:
    """The answer with the words of its preset reason before its own; the same answer when it names none.

    Raises:
        Invalid: at `/reason` when there is no such reason.
    """
    if not body.reason:
        return body
    found = RejectReason.objects.filter(workspace_id=workspace_id, name=body.reason).first()
    if found is None:
        raise Invalid.at("/reason", f"There is no reason called “{body.reason}”.", "not_found")
    own = body.message.strip()
    return body.model_copy(update={"message": f"{found.text}\n\n{own}" if own else found.text})
