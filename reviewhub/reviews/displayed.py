"""The digest of what people were shown of a call: for the record and for receipts."""

from __future__ import annotations

from reviewhub_agents import canonical

from reviewhub.reviews.models import ReviewRequest


def displayed(row: ReviewRequest) -> str:
    """`sha256:…` over what the queue, the page and the mail say first; the arguments stand in it by their digest."""
    return canonical.body_digest(
        {
            "agent": row.agent_name,
            "digest": row.digest,
            "environment": row.environment,
            "number": canonical.Number(str(row.number)),
            "risk": str(row.risk),
            "sentence": row.plain_sentence,
            "tool": row.tool_name,
            "version": canonical.Number(str(row.version)),
        }
    )
