"""What the background work with a store notes for admins, and how a store is known to be the right one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from reviewhub.checkpoints.blobs.fetch import MARKER
from reviewhub.checkpoints.blobs.protocol import BlobStore, StoreDown
from reviewhub.checkpoints.blobs.stores import store
from reviewhub.checkpoints.models import StoreState
from reviewhub.core.clock import now

log = logging.getLogger(__name__)


@contextmanager
def working(name: str) -> Iterator[BlobStore]:
    """The store of that name, marked; how the work inside goes is noted, and StoreDown goes on.

    Raises:
        StoreDown: settings name no such store, it does not answer, or it has lost its marker.
    """
    try:
        place = store(name)
        _mark(name, place)
        yield place
    except StoreDown as error:
        log.warning("the blob store %s: %s", name, error)
        StoreState.objects.update_or_create(name=name, defaults={"problem": str(error)})
        StoreState.objects.filter(name=name, failing_since=None).update(failing_since=now())
        raise
    StoreState.objects.filter(name=name).update(ok_at=now(), failing_since=None, problem="")


def _mark(name: str, place: BlobStore) -> None:
    """Puts the marker at the first use. Later it must be there: a store without it is another one, or was emptied."""
    if place.get_many([MARKER]):
        StoreState.objects.get_or_create(name=name, defaults={"ok_at": now()})
        return
    if StoreState.objects.filter(name=name, ok_at__isnull=False).exists():
        raise StoreDown("it is not the store that blobs were put into: its marker is not there")
    place.put_many({MARKER: f"ReviewHub keeps blobs here, under the name {name}.\n".encode()})
    StoreState.objects.update_or_create(name=name, defaults={"ok_at": now()})
