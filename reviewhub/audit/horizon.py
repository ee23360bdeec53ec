"""How far the record is settled: below which transaction nothing can appear any more, and which one stands there.

On PostgreSQL a transaction that has written anything has a number, and whatever it records bears that number, however
late it commits. So readers and the sealer stop at the oldest one that is still open. Transactions are numbered through
all databases of a server; those that are known to belong to another database are passed over: they cannot write here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db import connection

from reviewhub.core.display import durations

# The snapshot says which transactions are open, all at one moment. Each holds the lock of its own number, and the
# process that holds it is in one database from its beginning to its end. One that was prepared has no process, and is
# in the database that it was prepared in. One of which neither is known (it is just about to take its lock, or to be
# prepared) counts as one of this database. What is in no list of open ones had ended before the snapshot,
# so every later statement sees all that it wrote.
_OPEN: Final = """
    SELECT x.xid::text::bigint AS xid, l.pid, p.gid, p.owner, p.prepared
    FROM pg_snapshot_xip(pg_current_snapshot()) AS x(xid)
    LEFT JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = x.xid::xid
        AND l.mode = 'ExclusiveLock' AND l.granted
    LEFT JOIN pg_prepared_xacts p ON p.transaction = x.xid::xid
    WHERE COALESCE(p.database, current_database()) = current_database() AND NOT EXISTS (
        SELECT 1 FROM pg_stat_get_activity(l.pid) a
        WHERE l.pid IS NOT NULL
            AND a.datid <> (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
    )
"""
_HORIZON: Final = f"""
    SELECT LEAST(
        (SELECT min(o.xid) FROM ({_OPEN}) o),
        pg_current_xact_id_if_assigned()::text::bigint,
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    )
"""  # noqa: S608  no value in it
_HOLDER: Final = f"""
    SELECT o.pid, COALESCE(a.usename, o.owner, ''), COALESCE(a.application_name, o.gid, ''),
        EXTRACT(EPOCH FROM clock_timestamp() - COALESCE(a.xact_start, o.prepared))::float8
    FROM ({_OPEN}) o LEFT JOIN pg_stat_activity a ON a.pid = o.pid
    WHERE o.xid <= %s ORDER BY o.xid LIMIT 1
"""  # noqa: S608  its value is a parameter


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The open transaction that what comes after it waits for.

    Args:
        pid: of the server's process; None for one that was prepared and not ended.
        role: whose it is, as far as the server says so.
        program: what it calls itself (`application_name`); how one that was prepared is called.
        seconds: how long it is open, or prepared; None when the server tells that only to others.
    """

    pid: int | None
    role: str
    program: str
    seconds: float | None

    def __str__(self) -> str:
        names = [name for name in (f"role {self.role}" if self.role else "", self.program) if name]
        since = "" if self.seconds is None else f" for {durations.length(self.seconds)}"
        if self.pid is None:
            called = f": {', '.join(names)}" if names else ""
            return (
                f"a transaction that is prepared{since} and that nobody has ended (pg_prepared_xacts){called}"
            )
        return f"a transaction that is open{since}: process {self.pid} ({', '.join(names) or 'unknown'})"


def horizon() -> int | None:
    """The number below which every transaction of this database has ended; None where commits keep their order.

    Events below it, read by a later statement, are all there ever will be.
    """
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as sql:
        sql.execute(_HORIZON)
        return int(sql.fetchone()[0])


def holder(xid: int) -> Holder | None:
    """The oldest open transaction of this database that what bears the number `xid` waits for; None without one."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as sql:
        sql.execute(_HOLDER, [xid])
        row = sql.fetchone()
    return Holder(pid=row[0], role=row[1], program=row[2], seconds=row[3]) if row else None
