"""Reading events as they come, without missing one.

Ids are given out when a row is written, not when it is committed: on PostgreSQL a reader that remembers the
last id it saw loses the event that commits late. So the cursor is the pair (xid, id), and what is not below the
oldest transaction still open is held back: nothing can appear before the cursor any more. Pages do not wait for
that, see `live.tailer`. SQLite has one writer at a time, ids are committed in order there, and the pair is (0, id).
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import BigIntegerField, BooleanField, Func, QuerySet
from django.db.models.expressions import RawSQL

from reviewhub.audit.models import Event
from reviewhub.core.errors import Invalid

MAX_LIMIT: Final = 1000
OVERLAP_IDS: Final = 1000
_BIGGEST: Final = 2**63 - 1


class OldestOpenXid(Func):
    """The oldest transaction that may still write; everything below it is committed or gone."""

    template = "(pg_snapshot_xmin(pg_current_snapshot())::text::bigint)"
    output_field = BigIntegerField()


@dataclass(frozen=True)
class Batch:
    """Some events, the oldest first, and the cursor after the last of them."""

    events: Sequence[Event]
    cursor: str
    more: bool


def feed(*, workspace_id: uuid.UUID, after: str = "", limit: int = 100) -> Batch:
    """The next events of a workspace after the cursor `after` ("" from the first on), at most `limit` (1 to 1000).

    The cursor moves only past what was handed out; asking again with the one that a batch carries goes on
    from there, also when the batch was empty.

    Raises:
        Invalid: `after` is no cursor of this feed.
    """
    xid, last = _place(after) if after else (-1, -1)
    rows = settled(Event.objects.filter(workspace_id=workspace_id))
    rows = rows.filter(is_after(xid, last)).select_related("payload")
    found = list(rows.order_by("xid", "id")[: limit + 1])
    events = found[:limit]
    cursor = _encode(events[-1].xid, events[-1].pk) if events else after
    return Batch(events=events, cursor=cursor, more=len(found) > limit)


def _place(cursor: str) -> tuple[int, int]:
    """Where a cursor stands; one of another cluster (see `audit.adopt`) goes back a little, to skip nothing."""
    xid, last = _decode(cursor)
    if connection.vendor == "postgresql":
        with connection.cursor() as sql:
            sql.execute("SELECT %s >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint", [xid])
            if sql.fetchone()[0]:
                return 0, last - OVERLAP_IDS
    return xid, last


def is_after(xid: int, event_id: int) -> RawSQL:
    """A condition on events; compared as a pair, so that the index leads straight there."""
    pair = "(audit_event.xid, audit_event.id) > (%s, %s)"
    return RawSQL(pair, [xid, event_id], output_field=BooleanField())  # noqa: S611  values are parameters


def settled(rows: QuerySet[Event]) -> QuerySet[Event]:
    """Events without what could still be overtaken by an open transaction."""
    if connection.vendor == "postgresql":
        return rows.filter(xid__lt=OldestOpenXid())
    return rows


def _encode(xid: int, last: int) -> str:
    return base64.urlsafe_b64encode(f"{xid}.{last}".encode()).decode().rstrip("=")


def _decode(cursor: str) -> tuple[int, int]:
    try:
        text = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)).decode("ascii")
        xid, last = (int(part) for part in text.split("."))
    except (ValueError, binascii.Error) as error:
        raise Invalid.at("/after", "This is no cursor of this list.") from error
    if not (0 <= xid <= _BIGGEST and 0 <= last <= _BIGGEST) or _encode(xid, last) != cursor:
        raise Invalid.at("/after", "This is no cursor of this list.")
    return xid, last
