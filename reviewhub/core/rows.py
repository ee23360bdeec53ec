"""Reading one row."""

from __future__ import annotations

from typing import TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)
Row = TypeVar("Row")


def one_or_none(rows: QuerySet[M, Row]) -> Row | None:
    """The row that a unique lookup finds, or None.

    `QuerySet.first` would sort by the primary key first, which nearly doubles the time of such a read, and would hide
    that there are two.

    Raises:
        MultipleObjectsReturned: the lookup is not unique.
    """
    try:
        return rows.get()
    except ObjectDoesNotExist:
        return None
