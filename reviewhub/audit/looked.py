"""Reading the record is on the record, too: who looked, at what, through which door."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Final

from django.db import transaction

from reviewhub.audit import kinds
from reviewhub.audit.kinds import AuditRead
from reviewhub.audit.models import Event
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor

AGAIN: Final = timedelta(hours=1)
"""Looking at the same once more within this time is the same look: a program that follows the record would fill it."""
LONGEST: Final = 500


@transaction.atomic
def looked(*, workspace_id: uuid.UUID, actor: Actor, what: str) -> None:
    """Records that somebody reads some of the record, before they get it.

    Args:
        what: what they look at, for people.
    """
    data = AuditRead(what=what[:LONGEST], door=actor.source)
    same = kinds.sentence(kinds.find("audit.read"), actor=actor.name, data=data)
    before = Event.objects.filter(
        workspace_id=workspace_id, actor_id=actor.id, kind="audit.read", at__gte=clock.now() - AGAIN
    )
    if not before.filter(payload__sentence=same).exists():
        record("audit.read", workspace_id=workspace_id, actor=actor, data=data)
