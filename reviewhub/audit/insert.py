"""The two rows of an event, written through a raw cursor: every verb records, and the ORM's way takes twice as long."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection
from django.db.models import Field

from reviewhub.audit.models import Event, EventPayload

# What is not named has its default: `xid` that of the transaction, and nothing is erased.
_EVENT: Final = """
INSERT INTO audit_event (workspace_id, kind, at, leaf, actor_kind, actor_id, tool, run_id, pause_id, request_id,
    agent_id, subject_id)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
"""
_PAYLOAD: Final = """
INSERT INTO audit_eventpayload (event_id, salt, actor_name, sentence, body, arguments) VALUES (%s, %s, %s, %s, %s, %s)
"""
# PostgreSQL takes both in one round trip.
_BOTH: Final = """
WITH event AS (
    INSERT INTO audit_event (workspace_id, kind, at, leaf, actor_kind, actor_id, tool, run_id, pause_id, request_id,
        agent_id, subject_id)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
)
INSERT INTO audit_eventpayload (event_id, salt, actor_name, sentence, body, arguments)
SELECT id, %s, %s, %s, %s, %s FROM event RETURNING event_id
"""


def _columns(model: type[Event] | type[EventPayload], names: str) -> list[Field[Any, Any]]:
    found = [model._meta.get_field(name) for name in names.split()]
    return [field for field in found if isinstance(field, Field)]


_OF_EVENT: Final = _columns(
    Event,
    "workspace_id kind at leaf actor_kind actor_id tool run_id pause_id request_id agent_id subject_id",
)
_OF_PAYLOAD: Final = _columns(EventPayload, "salt actor_name sentence body arguments")


def insert(event: Event, payload: EventPayload) -> None:
    """Writes both, and tells them the event's id.

    Args:
        event, payload: unsaved.
    """
    of_event, of_payload = _values(event, _OF_EVENT), _values(payload, _OF_PAYLOAD)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_BOTH, [*of_event, *of_payload])
            event.id = cursor.fetchone()[0]
        else:
            cursor.execute(_EVENT, of_event)
            event.id = cursor.fetchone()[0]
            cursor.execute(_PAYLOAD, [event.id, *of_payload])
    payload.event = event
    for row in (event, payload):
        row._state.adding, row._state.db = False, connection.alias


def _values(row: Event | EventPayload, columns: list[Field[Any, Any]]) -> list[Any]:
    return [column.get_db_prep_save(getattr(row, column.name), connection) for column in columns]
