"""A blob whose stored bytes are damaged gets its bytes back from whoever saves the same value again."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Mapping
from hashlib import sha256

from django.db import connection

from reviewhub.checkpoints.rows import RAW, BrokenCheckpoint, unpack
from reviewhub.checkpoints.statements import id_, read_blobs

log = logging.getLogger(__name__)

# The guards let it pass: they see for themselves that these are the bytes of this hash, since they are not compressed.
_MEND = "UPDATE checkpoints_blob SET data = %s WHERE run_id = %s AND hash = %s"


def mend(run_id: uuid.UUID, *, blobs: Mapping[bytes, bytes], odd: Collection[bytes]) -> None:
    """Writes anew what is damaged of the blobs `odd`, in the transaction of the save that has them, too.

    Args:
        blobs: hash → packed bytes, as they are to be.
        odd: hashes of those that are stored in other bytes. Another version of the compression makes such, as damage
            does, so each is looked at.
    """
    for hash_, stored, _ in sorted(read_blobs(run_id, odd)):
        if stored is None or _is_whole(hash_, stored):
            continue
        log.error("blob %s of run %s was damaged; a save of the same value mends it", hash_.hex(), run_id)
        with connection.cursor() as cursor:
            cursor.execute(_MEND, (RAW + unpack(blobs[hash_]), id_(run_id), hash_))


def _is_whole(hash_: bytes, stored: bytes) -> bool:
    try:
        return sha256(unpack(stored)).digest() == hash_
    except BrokenCheckpoint:
        return False
