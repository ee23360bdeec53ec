"""Moves large blobs of a run from the database to the blob store: in the background, never while somebody waits.

In this order: what is about to be put is listed as a leftover; it is put; it is read back and compared; then one
transaction writes the location, drops the bytes from the row and strikes the leftover off. So at any moment the bytes
are in one place at least, and whatever a crash leaves in the store is on the list of what will be removed. A key is
used once only, so that a removal that comes late can never hit the bytes of a later move.
"""

from __future__ import annotations

import logging
import secrets
import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from hashlib import sha256

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Length

from reviewhub.checkpoints.blobs.leave import list_leftovers
from reviewhub.checkpoints.blobs.needs import Known, needed
from reviewhub.checkpoints.blobs.protocol import BlobStore, StoreDown
from reviewhub.checkpoints.blobs.stores import first_name
from reviewhub.checkpoints.blobs.upkeep import working
from reviewhub.checkpoints.models import Blob, Leftover
from reviewhub.checkpoints.rows import BrokenCheckpoint, unpack
from reviewhub.core import faults
from reviewhub.core.clock import now
from reviewhub.runs.models import Run

log = logging.getLogger(__name__)

BATCH, BATCH_BYTES = 32, 16_000_000
"""What is put at a time: this process holds it twice."""
MOVE_SECONDS = 3600
"""When a move that was begun is over for sure: from then on what it put is a leftover."""


def relocate(*, run_id: uuid.UUID) -> int:
    """Moves the large blobs of a run that nothing that goes on needs (`needs`). To be called outside of transactions.

    Returns:
        How many moved; the others are left for the next time.

    Raises:
        StoreDown: the store did not take them, or does not give back what it was given. Nothing is lost.
    """
    name = first_name()
    if name is None:
        return 0
    known: Known = {}
    try:
        due = list(_due(run_id, known))
    except BrokenCheckpoint as error:
        log.warning("the blobs of run %s stay where they are: %s", run_id, error)
        return 0
    moved = 0
    for batch in due:
        with working(name) as place:
            moved += _move(run_id, name, place, batch, known)
    return moved


def _due(run_id: uuid.UUID, known: Known) -> Iterator[list[bytes]]:
    """The hashes of the blobs that may go, in batches."""
    stay = needed(run_id, known)
    large = Blob.objects.filter(run_id=run_id, data__isnull=False).annotate(packed=Length("data"))
    large = large.filter(packed__gte=settings.BLOB_LARGE_BYTES).order_by("hash")
    batch: list[bytes] = []
    weight = 0
    for hash_, size in large.values_list("hash", "packed"):
        if bytes(hash_) in stay:
            continue
        if batch and (len(batch) == BATCH or weight + size > BATCH_BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(bytes(hash_))
        weight += size
    if batch:
        yield batch


def _move(run_id: uuid.UUID, name: str, place: BlobStore, hashes: list[bytes], known: Known) -> int:
    whole = _whole(run_id, hashes)
    workspace_id = Run.objects.values_list("workspace_id", flat=True).get(pk=run_id)
    keys = {hash_: f"{workspace_id}/{run_id}/{hash_.hex()}.{secrets.token_hex(4)}" for hash_ in whole}
    due_at = now() + timedelta(seconds=MOVE_SECONDS)
    Leftover.objects.bulk_create(Leftover(location=f"{name}/{key}", due_at=due_at) for key in keys.values())
    faults.point("blobs.listed")
    blobs = {keys[hash_]: data for hash_, data in whole.items()}
    place.put_many(blobs)
    faults.point("blobs.put")
    if place.get_many(list(blobs)) != blobs:
        raise StoreDown("it does not give back what it was given")
    faults.point("blobs.verified")
    with transaction.atomic():
        moved = _settle(run_id, {hash_: f"{name}/{key}" for hash_, key in keys.items()}, whole, known)
        faults.point("blobs.before_commit")
    faults.point("blobs.after_commit")
    return moved


def _whole(run_id: uuid.UUID, hashes: list[bytes]) -> dict[bytes, bytes]:
    """Their packed bytes. One that is damaged stays where it is; whoever loads it will say so."""
    rows = Blob.objects.filter(run_id=run_id, hash__in=hashes, data__isnull=False)
    found: dict[bytes, bytes] = {}
    for hash_, data in rows.values_list("hash", "data"):
        if data is not None and _is_whole(bytes(hash_), bytes(data)):
            found[bytes(hash_)] = bytes(data)
    return found


def _is_whole(hash_: bytes, data: bytes) -> bool:
    try:
        return sha256(unpack(data)).digest() == hash_
    except BrokenCheckpoint:
        return False


def _settle(
    run_id: uuid.UUID, places: Mapping[bytes, str], whole: Mapping[bytes, bytes], known: Known
) -> int:
    """The end of a move, in one transaction. What somebody works with at this moment, or needs by now, stays."""
    rows = Blob.objects.select_for_update(no_key=True, skip_locked=True)
    rows = rows.filter(run_id=run_id, hash__in=list(places), data__isnull=False)
    held = {bytes(hash_): old for hash_, old in rows.values_list("hash", "location")}
    # Read after they were locked: a head that names one of them from now on waits for this commit and brings it back.
    stay = needed(run_id, known)
    moved = 0
    for hash_, old in held.items():
        mine = Leftover.objects.filter(location=places[hash_], is_going=False)
        if hash_ in stay or not mine.delete()[0]:
            continue
        Blob.objects.filter(run_id=run_id, hash=hash_).update(
            data=None, location=places[hash_], size=len(whole[hash_])
        )
        list_leftovers([old])
        moved += 1
    return moved
