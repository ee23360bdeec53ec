"""Sketches of many rows as one, put together by the database: of a year of rows a few come back.

PostgreSQL can do it. SQLite is lent an aggregate by each connection, as Django does with its own functions.
"""

from __future__ import annotations

from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Aggregate, BinaryField

_LENT: Final = "reviewhub_joined"


class Joined(Aggregate):
    """The bytes of a column, one after the other, in any order; sketches put together so are one of all their times."""

    name = "Joined"
    function = _LENT
    output_field = BinaryField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(
            compiler, connection, function="string_agg", template="%(function)s(%(expressions)s, ''::bytea)"
        )


class _Bytes:
    """As SQLite wants an aggregate."""

    def __init__(self) -> None:
        self._found: list[bytes] = []

    def step(self, value: bytes) -> None:
        """One row."""
        self._found.append(value)

    def finalize(self) -> bytes:
        """What all rows give."""
        return b"".join(self._found)


def lend(*, connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Receiver of `connection_created`."""
    if connection.vendor == "sqlite":
        connection.connection.create_aggregate(_LENT, 1, _Bytes)
