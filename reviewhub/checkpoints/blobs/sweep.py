"""The regular look at the blob stores: removes what is due, moves what may go."""

from __future__ import annotations

import logging
import threading
import uuid

from django.conf import settings
from django.db import connection

from reviewhub.checkpoints.blobs.clear import clear
from reviewhub.checkpoints.blobs.protocol import StoreDown
from reviewhub.checkpoints.blobs.relocate import relocate
from reviewhub.checkpoints.blobs.stores import first_name
from reviewhub.core.clock import now
from reviewhub.core.sweeps import each, until
from reviewhub.runs.models import Run
from reviewhub.runs.rules import ENDED

log = logging.getLogger(__name__)

SECONDS = 30.0
"""A sweep begins nothing new after so long; the next one goes on."""
OPEN_RUNS = 50
"""Runs under way that are looked at in one sweep, the next ones in the next: each costs reading some rows."""
# In words of the index `blob_large`, so that small blobs are not looked at.
WITH_LARGE = "SELECT DISTINCT run_id FROM checkpoints_blob WHERE data IS NOT NULL AND length(data) >= 16384"
_one_at_a_time = threading.Lock()


def sweep() -> int:
    """One round; how many blobs moved or were removed. A store that is down ends its part of it, and no error."""
    if not _one_at_a_time.acquire(blocking=False):
        return 0
    try:
        return each(_cleared, settings.BLOB_STORES) + (_moved() if first_name() else 0)
    finally:
        _one_at_a_time.release()


def _cleared(name: str) -> int:
    try:
        return clear(name=name)
    except StoreDown:
        return 0


def _moved() -> int:
    moved = 0
    for run_id in until(candidates(), seconds=SECONDS):
        try:
            moved += relocate(run_id=run_id)
        except StoreDown:
            break
        except Exception:
            log.exception("the blobs of run %s stay where they are", run_id)
    return moved


def candidates() -> list[uuid.UUID]:
    """Runs with large blobs in the database: those that ended, then some of the others, every minute other ones."""
    with connection.cursor() as cursor:
        cursor.execute(WITH_LARGE)
        found = [row[0] if isinstance(row[0], uuid.UUID) else uuid.UUID(row[0]) for row in cursor.fetchall()]
    ended = set(Run.objects.filter(pk__in=found, state__in=ENDED).values_list("pk", flat=True))
    going = sorted(set(found) - ended)
    begin = int(now().timestamp() // 60) * OPEN_RUNS % max(len(going), 1)
    return sorted(ended) + (going[begin:] + going[:begin])[:OPEN_RUNS]
