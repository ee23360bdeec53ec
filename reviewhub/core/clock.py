"""One clock for everything that is decided by time: the database's.

Deadlines and leases are created from `now()` and compared in SQL with `DbNow()`, at the time of the write and
not at the start of the transaction.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models import DateTimeField, Func


class DbNow(Func):
    """The database's clock as an SQL expression, also inside WHERE."""

    template = "CURRENT_TIMESTAMP"
    output_field = DateTimeField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """`clock_timestamp()`: moves on inside a transaction, unlike `now()`."""
        return self.as_sql(compiler, connection, template="clock_timestamp()", **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """SQLite keeps and compares text: six digits, as Django writes them, or equal moments would not be equal."""
        # Each % is doubled twice: for the template here, and for the parameters of the whole statement.
        moment = "(STRFTIME('%%%%Y-%%%%m-%%%%d %%%%H:%%%%M:%%%%f', 'now') || '000')"
        return self.as_sql(compiler, connection, template=moment, **context)


def now() -> datetime:
    """The database's time, in UTC."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT clock_timestamp()")
            found: datetime = cursor.fetchone()[0]
            return found.astimezone(UTC)
        cursor.execute("SELECT STRFTIME('%Y-%m-%d %H:%M:%f', 'now')")
        return datetime.fromisoformat(cursor.fetchone()[0]).replace(tzinfo=UTC)
