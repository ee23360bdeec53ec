"""Blobs that are about to be removed: what they have in a blob store is listed, and goes afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db import transaction

from reviewhub.checkpoints.models import Blob, Leftover
from reviewhub.core.clock import now

_AT_ONCE = 500


def leave(*, run_id: uuid.UUID, hashes: Collection[bytes]) -> int:
    """To be called in the transaction that deletes these rows of Blob, before it does.

    Nothing is asked of the store here. The list and the deletion are one commit, and a sweep removes what is listed.

    Args:
        hashes: of blobs of the run, 32 bytes each; those that have nothing in a store are passed over.

    Returns:
        How many of them had.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("what is left in a store is listed in the transaction that forgets it")
    wanted, listed = sorted(hashes), 0
    for start in range(0, len(wanted), _AT_ONCE):
        rows = Blob.objects.filter(run_id=run_id, hash__in=wanted[start : start + _AT_ONCE])
        # Locked: a move that ends at this moment is seen, and none ends from now on.
        held = rows.select_for_update(no_key=True).order_by("hash")
        listed += len(list_leftovers(list(held.values_list("location", flat=True))))
    return listed


def list_leftovers(places: Collection[str | None]) -> list[Leftover]:
    """Lists bytes that nothing points to any more, to be removed at once."""
    at = now()
    return Leftover.objects.bulk_create([Leftover(location=place, due_at=at) for place in places if place])
