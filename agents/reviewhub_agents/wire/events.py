"""The record as programs read it."""

from __future__ import annotations

from .base import Wire
from .fields import Id, Int, JsonObject, Name, Time


class EventOut(Wire):
    """One audit event. With `salt` and `body` its `leaf` can be computed again; an erased event has neither.

    `body` holds `actor`, `data`, `refs` (what it is about) and `sentence` (what people read). `leaf` and
    `salt` are hexadecimal. leaf = SHA-256("reviewhub event 1\\n" ‖ workspace ‖ length of kind ‖ kind ‖ at ‖
    payload), payload = SHA-256("reviewhub payload 1\\n" ‖ salt ‖ canonical text of body).
    """

    id: Int
    workspace: Id
    kind: Name
    at: Time
    leaf: str
    salt: str | None = None
    body: JsonObject | None = None
    erased_at: Time | None = None


class EventList(Wire):
    """`GET /events`, the oldest first; `next` goes on from here, also when there was nothing (more) yet."""

    items: list[EventOut]
    next: str
    more: bool
