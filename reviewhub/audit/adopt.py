"""Events that a restored dump brought into another PostgreSQL cluster.

The feed orders events by the number of the transaction that wrote them. A new cluster counts from the start
again, so restored events would seem to come from transactions that have not begun. They are given the number
0: before everything that this cluster writes, in the order of their ids. The number is no part of a leaf. The
sealer looks at all events again: among those that it had not sealed yet, the order may be another one now.
"""

from __future__ import annotations

from django.db import DEFAULT_DB_ALIAS, connections, transaction

_ANY = (
    "SELECT EXISTS (SELECT 1 FROM audit_event"
    " WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint)"
)
_ADOPT = "UPDATE audit_event SET xid = 0 WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint"


def events_of_another_cluster(*, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether there are any; always false on SQLite, whose events all have the number 0."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute(_ANY)
        return bool(cursor.fetchone()[0])


def adopt(*, using: str = DEFAULT_DB_ALIAS) -> int:
    """Gives them the number 0 and returns how many there were. `migrate` calls it, with the guards off."""
    if not events_of_another_cluster(using=using):
        return 0
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute(_ADOPT)
        count = int(cursor.rowcount)
        cursor.execute("UPDATE audit_chain SET xid = -1, event_id = -1")
        return count
