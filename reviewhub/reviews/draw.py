"""An action that ran without waiting is drawn for a later look."""

from __future__ import annotations

from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM
from reviewhub.reviews.kinds import PostReviewDrawn
from reviewhub.reviews.models import PostReview
from reviewhub.toolcalls.models import ToolCall


def draw(*, call: ToolCall, because: str, severity: str) -> PostReview:
    """Puts one call into post-review, in the caller's transaction."""
    made = PostReview.objects.create(
        workspace_id=call.workspace_id, tool_call=call, drawn_because=because[:200], severity=severity
    )
    record(
        "post_review.drawn",
        workspace_id=call.workspace_id,
        actor=SYSTEM,
        run_id=call.run_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=PostReviewDrawn(tool=call.tool_name, because=because, severity=severity),
    )
    return made
