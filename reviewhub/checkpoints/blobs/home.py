"""A new branch begins on an older checkpoint: what its head needs comes back into the database."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from django.db.models import Q, QuerySet
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThanOrEqual

from reviewhub.checkpoints.blobs.fetch import BlobsAway, packed
from reviewhub.checkpoints.models import LARGE_BYTES, Blob

_AT_ONCE = 500


def fetch_home(run_id: uuid.UUID, hashes: Collection[str]) -> dict[bytes, bytes]:
    """Before the transaction: the bytes of those of these blobs that are in a store only. Raises as `packed` does."""
    found: dict[bytes, bytes] = {}
    for rows in _rows(run_id, hashes):
        away = [bytes(hash_) for hash_ in rows.filter(data__isnull=True).values_list("hash", flat=True)]
        found |= packed(run_id, away) if away else {}
    return found


def bring_home(run_id: uuid.UUID, hashes: Collection[str], home: Mapping[bytes, bytes]) -> None:
    """In the transaction that makes a head name these blobs: holds them where they are, and puts back those away.

    Args:
        home: what `fetch_home` fetched.

    Raises:
        BlobsAway: one has gone since; the same request may be sent again.
    """
    movable = Q(data__isnull=True) | Q(GreaterThanOrEqual(Length("data"), LARGE_BYTES))
    for rows in _rows(run_id, hashes):
        # Locked, so that nobody who looked at the heads before this commit moves one of them.
        list(rows.filter(movable).select_for_update(no_key=True).order_by("hash").values_list("hash"))
        away = rows.filter(data__isnull=True)
        for hash_ in list(away.values_list("hash", flat=True)):
            if bytes(hash_) not in home:
                raise BlobsAway
            away.filter(hash=hash_).update(data=home[bytes(hash_)])


def _rows(run_id: uuid.UUID, hashes: Collection[str]) -> Iterator[QuerySet[Blob]]:
    rest = iter(sorted(hashes))
    while some := [bytes.fromhex(hash_) for hash_ in islice(rest, _AT_ONCE)]:
        yield Blob.objects.filter(run_id=run_id, hash__in=some)
