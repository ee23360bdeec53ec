"""Erasing what events say about somebody, while it stays provable that they happened."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db import transaction

from reviewhub.audit.kinds import AuditErased
from reviewhub.audit.models import EventPayload
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid


@transaction.atomic
def erase(*, workspace_id: uuid.UUID, event_ids: Sequence[int], actor: Actor, because: str) -> int:
    """Empties names, sentence, data and salt of some events, and records that.

    Leaf, kind, time and the plain ids stay, so the chain over the events holds; without its salt nobody can
    confirm a guess about what an erased event said. There is no way back.

    Args:
        workspace_id: events of others are left alone, as if they were not there.
        event_ids: which events.
        because: the reason, kept for ever; it must not repeat what is erased.

    Returns:
        How many were erased now; those erased before do not count.

    Raises:
        Invalid: no reason is given.
    """
    if not because.strip():
        raise Invalid.at("/because", "An erasure needs a reason.", "missing")
    rows = EventPayload.objects.filter(
        event__workspace_id=workspace_id, event_id__in=event_ids, erased_at__isnull=True
    ).order_by("event_id")
    erased = list(rows.select_for_update(of=("self",)).values_list("event_id", flat=True))
    if not erased:
        return 0
    by = record(
        "audit.erased",
        workspace_id=workspace_id,
        actor=actor,
        data=AuditErased(because=because, event_ids=erased),
    )
    EventPayload.objects.filter(event_id__in=erased).update(
        salt=b"",
        actor_name="",
        sentence="",
        body="",
        arguments="",
        erased_at=clock.now(),
        erased_by=by.id,
    )
    return len(erased)
