"""Giving the pen to a new key."""

from __future__ import annotations

from django.db import transaction

from reviewhub.audit import keys
from reviewhub.audit.kinds import KeyRotated
from reviewhub.audit.models import Chain, SealKey
from reviewhub.audit.record import Entry, record_many
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict


@transaction.atomic
def rotate_key(*, actor: Actor, lost: bool = False) -> SealKey:
    """Makes a new key. Each workspace has an event that names it; the seal of that event is the old key's last.

    Args:
        lost: the old key's private half is gone, so it cannot name the next. Who checks the record has to be told to
            trust the new one.

    Raises:
        KeyMissing: the old key is not there, and `lost` was not said.
        Conflict: `lost` was said, but it is there.
        IntegrityError: somebody else made a key at the same moment.
    """
    before = keys.newest()
    if lost and keys.can_sign(before.public):
        raise Conflict("The key file is there: without its word no other key takes over.")
    if not lost:
        keys.sign(before.public, b"")
    new = keys.make(number=before.number + 1, lost=before.public if lost else "")
    said = KeyRotated(key=new.public, before=before.public, lost=lost)
    record_many(
        [
            Entry(kind="audit.key_rotated", workspace_id=workspace_id, actor=actor, data=said)
            for workspace_id in Chain.objects.order_by("workspace_id").values_list("workspace_id", flat=True)
        ]
    )
    return new
