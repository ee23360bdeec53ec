"""Standing approvals as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.core.clock import now
from reviewhub.core.keyset import Page
from reviewhub.standing.models import StandingApproval
from reviewhub.standing.queries import plain
from reviewhub.standing.rules import bounds_text, state_of


def standing_list(page: Page[StandingApproval]) -> wire.StandingList:
    """A page of them."""
    at = now()
    fields: dict[str, Any] = {"items": [standing_out(row, at=at) for row in page.rows]}
    if page.next:
        fields["next"] = page.next
    return wire.StandingList(**fields)


def standing_out(row: StandingApproval, *, at: datetime) -> wire.StandingOut:
    """One as it is at a time, with agent, team and owner loaded."""
    one = plain(row)
    bounds = canonical.reread(row.bounds)
    fields: dict[str, Any] = {
        "id": row.pk,
        "request": row.request_number,
        "state": state_of(one, at=at),
        "agent": row.agent.name,
        "environment": row.environment,
        "tool": row.tool_name,
        "owner": row.owner_name,
        "team": row.team.name,
        "covers": bounds_text(one),
        "until": row.until,
        "uses": row.uses,
        "created_at": row.created_at,
        **(bounds if isinstance(bounds, dict) else {}),
    }
    for name, value in (("digest", row.digest), ("run", row.run_id), ("max_uses", row.max_uses)):
        if value:
            fields[name] = value
    if row.revoked_at is not None:
        fields["revoked_at"] = row.revoked_at
        fields["revoked_by"] = row.revoked_by_name
        fields["revoked_because"] = row.revoked_because
    return wire.StandingOut(**fields)
