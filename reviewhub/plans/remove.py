"""Takes the plans of a run away, when its last checkpoint goes."""

from __future__ import annotations

import uuid

from django.db import connection

_MARKS = "DELETE FROM plans_stepmark WHERE version_id IN (SELECT id FROM plans_planversion WHERE run_id = %s)"
_VERSIONS = "DELETE FROM plans_planversion WHERE run_id = %s"


def remove(*, run_id: uuid.UUID) -> None:
    """Removes every version and mark of a run, in the caller's transaction, while a removal of the run is open.

    Raises:
        IntegrityError: no removal of the run is open, or it is under hold: the database refuses.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("plans are removed only inside the transaction that records it")
    key = run_id.hex if connection.vendor == "sqlite" else run_id
    # By hand: Django would read every row first, to look for what refers to it. Only the marks do, and they go first.
    with connection.cursor() as cursor:
        cursor.execute(_MARKS, [key])
        cursor.execute(_VERSIONS, [key])
