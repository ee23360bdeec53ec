"""A standing approval ends at once."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import DbNow
from reviewhub.core.errors import Invalid
from reviewhub.core.text import check_text
from reviewhub.standing.kinds import StandingRevoked
from reviewhub.standing.models import StandingApproval
from reviewhub.standing.queries import target_of


@transaction.atomic
def revoke(*, standing_id: uuid.UUID, reason: str, actor: Actor) -> StandingApproval:
    """Ends it; revoking twice changes nothing.

    What it let run and has not started yet is asked about when it is consumed. Who consumes holds the row while they
    look, so each call either started before or is asked about.

    Raises:
        Invalid: there is no reason.
        NotAnyMore: who revokes may not do so any more.
    """
    check_text(reason, path="/reason")
    if not reason.strip():
        raise Invalid.at("/reason", "Say why.", "missing")
    row = StandingApproval.objects.select_related("agent").get(pk=standing_id)
    still_may(actor, Action.STANDING_REVOKE, target_of(row))
    row = StandingApproval.objects.select_for_update(no_key=True).get(pk=standing_id)
    if row.revoked_at is not None:
        return row
    fields = {"revoked_at": DbNow(), "revoked_by_name": actor.name[:200], "revoked_because": reason.strip()}
    StandingApproval.objects.filter(pk=row.pk, revoked_at__isnull=True).update(**fields)
    row.refresh_from_db()
    record(
        "standing.revoked",
        workspace_id=row.workspace_id,
        actor=actor,
        agent_id=row.agent_id,
        subject_id=row.pk,
        data=StandingRevoked(
            number=row.request_number,
            tool=row.tool_name,
            owner=row.owner_name,
            uses=row.uses,
            reason=reason.strip(),
        ),
    )
    return row
