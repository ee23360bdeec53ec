"""The two rows of an event, written through a raw cursor: every verb records, and the ORM's way takes twice as long."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection

from reviewhub.audit.leaf import leaf_hash, leaf_head
from reviewhub.core import clock

# What is not named has its default: `xid` that of the transaction, and nothing is erased.
_EVENT: Final = """
INSERT INTO audit_event (workspace_id, kind, at, leaf, actor_kind, actor_id, tool, run_id, pause_id, request_id,
    agent_id, subject_id)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
"""
_PAYLOAD: Final = """
INSERT INTO audit_eventpayload (event_id, salt, actor_name, sentence, body, arguments) VALUES (%s, %s, %s, %s, %s, %s)
"""
# PostgreSQL takes all in one round trip, also the time, so it makes the leaf that the time is part of; the function is
# in the migration `written_at_once`.
_AT_ONCE: Final = (
    "SELECT reviewhub_record(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)


def insert(
    *,
    workspace_id: uuid.UUID,
    kind: str,
    at: datetime | None,
    payload: bytes,
    about: Sequence[str | uuid.UUID | None],
    words: Sequence[str | bytes],
) -> int:
    """Writes both.

    Args:
        at: when; None is now, by the database's clock.
        payload: the hash of the words.
        about: actor_kind, actor_id, tool, run_id, pause_id, request_id, agent_id, subject_id.
        words: salt, actor_name, sentence, body, arguments.

    Returns:
        The event's id.
    """
    with connection.cursor() as cursor:
        if cursor.db.vendor == "postgresql":
            head = leaf_head(workspace_id=workspace_id, kind=kind)
            cursor.execute(_AT_ONCE, [workspace_id, kind, at, head, payload, *about, *words])
            return int(cursor.fetchone()[0])
        at = at or clock.now()
        leaf = leaf_hash(workspace_id=workspace_id, kind=kind, at=at, payload=payload)
        cursor.execute(_EVENT, [_plain(value) for value in (workspace_id, kind, at, leaf, *about)])
        event_id = int(cursor.fetchone()[0])
        cursor.execute(_PAYLOAD, [event_id, *words])
        return event_id


def _plain(value: Any) -> Any:
    """As SQLite keeps it."""
    if isinstance(value, uuid.UUID):
        return value.hex
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
