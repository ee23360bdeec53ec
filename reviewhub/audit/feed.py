"""Reading events as they come, without missing one.

Ids are given out when a row is written, not when it is committed: on PostgreSQL a reader that remembers the
last id it saw loses the event that commits late. So the cursor is the pair (xid, id), and what is not below the
oldest transaction still open is held back (`audit.horizon`): nothing can appear before the cursor any more. Pages do
not wait for that, see `live.tailer`. SQLite has one writer at a time, ids are committed in order there, and the pair
is (0, id).
"""

from __future__ import annotations

import base64
import binascii
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db import connection
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from reviewhub.audit.horizon import horizon
from reviewhub.audit.in_time import all_in_time
from reviewhub.audit.models import Event
from reviewhub.audit.queries import Filters, answering, filtered
from reviewhub.audit.search import FIRST, MOST, SECONDS
from reviewhub.audit.text import holding, sought, ways
from reviewhub.core.errors import Invalid

MAX_LIMIT: Final = 1000
OVERLAP_IDS: Final = 1000
_BIGGEST: Final = 2**63 - 1


@dataclass(frozen=True)
class Batch:
    """Some events, the oldest first, and the cursor after the last of them."""

    events: Sequence[Event]
    cursor: str
    more: bool


def feed(
    *, workspace_id: uuid.UUID, after: str = "", limit: int = 100, filters: Filters | None = None
) -> Batch:
    """The next events of a workspace after the cursor `after` ("" from the first on), at most `limit` (1 to 1000).

    The cursor moves only past what was handed out, or does not fit; asking again with the one that a batch carries goes
    on from there, also when the batch was empty.

    Args:
        filters: only events that fit. A batch may then end early, with `more` set: the rest was not looked at yet.

    Raises:
        Invalid: `after` is no cursor of this feed.
    """
    xid, last = _place(after) if after else (-1, -1)
    rows = settled(Event.objects.filter(workspace_id=workspace_id), horizon()).filter(is_after(xid, last))
    rows = rows.order_by("xid", "id")
    if filters is not None and filters.narrows:
        return _narrowed(rows, workspace_id, filters, after, limit)
    found = list(rows.select_related("payload")[: limit + 1])
    return _cut(found, limit) or Batch(
        events=found, cursor=_encode(found[-1].xid, found[-1].pk) if found else after, more=False
    )


def _narrowed(
    rows: QuerySet[Event], workspace_id: uuid.UUID, filters: Filters, after: str, limit: int
) -> Batch:
    """Those that fit, by an index if that is quick, else part by part until the time is up."""
    newest = rows.reverse().values_list("xid", "id").first()
    if newest is None:
        return Batch(events=[], cursor=after, more=False)
    # What the cursor has passed is settled: nothing comes before it any more.
    rows, whole = rows.filter(is_until(*newest)), _encode(*newest)
    rows, asked = _without_text(rows, workspace_id, filters), sought(workspace_id, filters.text)
    if connection.vendor == "postgresql":
        led = (ways(rows, asked) if asked else []) or [holding(rows, asked)]
        some = all_in_time(way.select_related("payload")[: limit + 1] for way in led)
        if some is not None:
            once = {event.pk: event for event in some}
            found = sorted(once.values(), key=lambda event: (event.xid, event.pk))[: limit + 1]
            return _cut(found, limit) or Batch(events=found, cursor=whole, more=False)
    begun, found, size = time.monotonic(), [], FIRST
    while True:
        end = rows.values_list("xid", "id")[size - 1 : size].first()
        part = rows if end is None else rows.filter(is_until(*end))
        found += holding(part, asked).select_related("payload")[: limit + 1 - len(found)]
        if cut := _cut(found, limit):
            return cut
        if end is None:
            return Batch(events=found, cursor=whole, more=False)
        if time.monotonic() - begun > SECONDS:
            return Batch(events=found, cursor=_encode(*end), more=True)
        rows, size = rows.filter(is_after(*end)), min(2 * size, MOST)


def _without_text(rows: QuerySet[Event], workspace_id: uuid.UUID, filters: Filters) -> QuerySet[Event]:
    fits = filtered(rows, replace(filters, text=""), workspace_id)
    return answering(fits, filters) if filters.text else fits


def _cut(found: list[Event], limit: int) -> Batch | None:
    """The first `limit`, when there is one more than that."""
    if len(found) <= limit:
        return None
    last = found[limit - 1]
    return Batch(events=found[:limit], cursor=_encode(last.xid, last.pk), more=True)


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
    return _compared(">", xid, event_id)


def is_until(xid: int, event_id: int) -> RawSQL:
    """A condition on events: this one and those before it."""
    return _compared("<=", xid, event_id)


def _compared(sign: str, xid: int, event_id: int) -> RawSQL:
    pair = f"(audit_event.xid, audit_event.id) {sign} (%s, %s)"
    return RawSQL(pair, [xid, event_id], output_field=BooleanField())  # noqa: S611  values are parameters


def settled(rows: QuerySet[Event], before: int | None) -> QuerySet[Event]:
    """Events without what could still be overtaken by an open transaction: those below the horizon, if there is one."""
    return rows if before is None else rows.filter(xid__lt=before)


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
