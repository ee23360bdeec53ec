"""Pages of long lists by keyset: the cursor says after which row to go on, so no page costs more than the first."""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from reviewhub.core.errors import Invalid

T = TypeVar("T", bound=Model)
MAX_LIMIT = 200


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some rows, and the cursor of the next ones (empty at the end)."""

    rows: list[T]
    next: str


def newest_first(rows: QuerySet[T], *, cursor: str, limit: int) -> Page[T]:
    """A page of rows that have `created_at` and a UUID `id`, the newest first.

    Args:
        cursor: the `next` of the page before; empty for the first one.
        limit: rows on this page, at most MAX_LIMIT.

    Raises:
        Invalid: the cursor is none of ours.
    """
    if cursor:
        at, last = place(cursor)
        # The first condition is implied by the second; it lets both databases start in the middle of the index.
        rows = rows.filter(Q(created_at__lte=at) & (Q(created_at__lt=at) | Q(id__lt=last)))
    found = list(rows.order_by("-created_at", "-id")[: within(limit) + 1])
    return cut(found, limit=limit, key=lambda row: [row.created_at.isoformat(), str(row.id)])


def within(limit: int) -> int:
    """The limit, brought into 1 to MAX_LIMIT."""
    return max(1, min(limit, MAX_LIMIT))


def cut(found: list[T], *, limit: int, key: Any) -> Page[T]:
    """A page of the first `limit` of `found`, which was read with one row more to see whether there is a next page."""
    rows = found[: within(limit)]
    more = len(found) > len(rows)
    return Page(rows=rows, next=write(key(rows[-1])) if more else "")


def write(parts: list[str | int]) -> str:
    """An opaque cursor that holds `parts`."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def read(cursor: str, *, length: int) -> list[Any]:
    """The parts of a cursor. Raises Invalid when it is none of ours."""
    try:
        parts = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise bad_cursor() from error
    if not isinstance(parts, list) or len(parts) != length:
        raise bad_cursor()
    return parts


def bad_cursor() -> Invalid:
    """The error for a cursor that this list did not give."""
    return Invalid.at("/cursor", "is not a cursor of this list; begin again without one")


def place(cursor: str) -> tuple[datetime, uuid.UUID]:
    """The time and the id of the row after which a page goes on. Raises Invalid when it is none of ours."""
    at, last = read(cursor, length=2)
    try:
        moment = datetime.fromisoformat(at)
        row = uuid.UUID(last)
    except (ValueError, TypeError, AttributeError) as error:
        raise bad_cursor() from error
    if moment.tzinfo is None:
        raise bad_cursor()
    return moment, row
