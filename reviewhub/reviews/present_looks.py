"""What ran without waiting, and what people say of it, as the API shows it."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.core.keyset import Page
from reviewhub.reviews.models import FollowUp, PostReview


def look_list(page: Page[PostReview]) -> wire.LookList:
    """A page of them, with calls, branches and follow-ups loaded."""
    fields: dict[str, Any] = {"items": [look_out(row) for row in page.rows]}
    if page.next:
        fields["next"] = page.next
    return wire.LookList(**fields)


def look_out(row: PostReview) -> wire.LookOut:
    """One of them."""
    call = row.tool_call
    fields: dict[str, Any] = {
        "id": call.pk,
        "run": row.run_id,
        "branch": call.branch.name,
        "agent": row.agent_name,
        "environment": row.environment,
        "tool": row.tool_name,
        "sentence": row.plain_sentence,
        "risk": row.risk,
        "status": call.state,
        "ran_without_approval": call.ran_without_approval,
        "state": row.state,
        "because": row.drawn_because,
        "share": row.percent,
        "note": row.note,
        "drawn_at": row.drawn_at,
        "follow_ups": [follow_up_out(one) for one in row.follow_ups.all()],
    }
    said = {
        "checkpoint": call.checkpoint_id,
        "number": row.number,
        "severity": row.severity or None,
        "by": row.member_name or None,
        "reviewed_at": row.reviewed_at,
    }
    fields |= {name: value for name, value in said.items() if value is not None}
    return wire.LookOut(**fields)


def follow_up_out(row: FollowUp) -> wire.FollowUpOut:
    """One follow-up."""
    fields: dict[str, Any] = {
        "id": row.pk,
        "kind": row.kind,
        "state": row.state,
        "by": row.name,
        "note": row.note,
        "created_at": row.created_at,
    }
    said = {
        "to": row.to_names or None,
        "branch": row.branch_id,
        "rule": canonical.reread(row.rule) if row.rule else None,
        "done_at": row.done_at,
        "done_by": row.done_by_name or None,
        "done_note": row.done_note or None,
    }
    fields |= {name: value for name, value in said.items() if value is not None}
    return wire.FollowUpOut(**fields)
