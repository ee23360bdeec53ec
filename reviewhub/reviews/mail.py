"""The words of the e-mails about requests and flags. They carry no arguments: a mailbox is no place for secrets."""

from __future__ import annotations

from datetime import tzinfo

from django.conf import settings

from reviewhub.core.display import moments
from reviewhub.reviews.models import PostReview, ReviewRequest


def address_of(row: ReviewRequest) -> str:
    """Where a person decides this request."""
    return f"{settings.PUBLIC_URL}/{row.workspace.slug}/requests/{row.number}"


def waiting_mail(row: ReviewRequest, zone: tzinfo) -> tuple[str, str]:
    """Subject and text of "a request waits", with its time in `zone`. The link only shows; deciding needs sign-in and a
    form."""
    due = f"until {moments.said(row.deadline_at, zone)}" if row.deadline_at else "without a deadline"
    what = (
        "Somebody must say whether this happened"
        if row.kind == row.Kind.UNKNOWN
        else "Waiting for your decision"
    )
    body = (
        f"{what}, {due}:\n\n"
        f"    {row.plain_sentence}\n\n"
        f"Asked by the agent {row.agent_name} ({row.environment}), tool {row.tool_name}, risk {row.risk}.\n\n"
        f"{address_of(row)}\n"
    )
    return f"#{row.number} {row.plain_sentence}", body


def look_address(row: PostReview) -> str:
    """Where a person sees what ran unasked, and what was said of it."""
    return f"{settings.PUBLIC_URL}/{row.workspace.slug}/post-review/{row.tool_call_id}"


def flagged_mail(row: PostReview, *, by: str, why: str) -> tuple[str, str]:
    """Subject and text of "this was flagged"; `why` it is sent, in a sentence. The words of the flag stay behind the
    link."""
    body = (
        f"{why}\n\n"
        f"    {row.plain_sentence}\n\n"
        f"It ran without waiting: agent {row.agent_name} ({row.environment}), tool {row.tool_name}. {by} flagged it, "
        f"{row.severity} severity.\n\n"
        f"{look_address(row)}\n"
    )
    return f"Flagged: {row.plain_sentence}", body
