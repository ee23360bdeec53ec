"""What stands beside a request: conversation, plan, the calls before it, and what was decided about others like it."""

from __future__ import annotations

from typing import Any

from reviewhub.accounts.permissions import MemberCaller, scope_of
from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.load import CheckpointRemoved, CorruptCheckpoint, load_state
from reviewhub.gates.set_aside import setting_aside
from reviewhub.reviews.alike import alike
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import ToolCall
from reviewhub.web.called import Called, called
from reviewhub.web.plan_view import around
from reviewhub.web.talk import talk_in

CALLS_SHOWN = 5


def beside(row: ReviewRequest, caller: MemberCaller) -> dict[str, Any]:
    """All of it, bounded: of the state no more is read than the end of the conversation."""
    return {
        **_talk(row),
        "here_in_plan": around(row.branch_id, row.tool_call.checkpoint),
        "calls": _calls(row),
        "most_calls": CALLS_SHOWN,
        "alike": alike(row, scope_of(caller)),
    }


def _talk(row: ReviewRequest) -> dict[str, Any]:
    """The end of the conversation at the gate; a broken checkpoint costs this part only, the arguments stand apart."""
    checkpoint = row.tool_call.checkpoint
    if checkpoint is None:
        return {}
    try:
        with setting_aside():
            return {"talk": talk_in(load_state(checkpoint))}
    except (CorruptCheckpoint, CheckpointRemoved):
        return {}
    except BlobsAway as away:
        return {"talk_away": away.message}


def _calls(row: ReviewRequest) -> list[Called]:
    calls = ToolCall.objects.filter(branch_id=row.branch_id, created_at__lte=row.created_at)
    calls = calls.exclude(pk=row.tool_call_id).select_related("branch")
    if row.tool_call.pause_id is not None:
        # What was proposed in the same pause waits beside it and did not come before.
        calls = calls.exclude(pause_id=row.tool_call.pause_id)
    return called(list(calls.order_by("-created_at", "-position")[:CALLS_SHOWN]))
