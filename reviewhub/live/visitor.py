"""Who is behind a WebSocket: asked when it opens, and again while it is open."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.utils.crypto import constant_time_compare

from reviewhub.accounts.actors import signed_in_at
from reviewhub.accounts.models import Person
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.accounts.queries import active_callers
from reviewhub.core.rows import one_or_none

_SESSION_KEY = re.compile(r"[a-z0-9]{32}")


@dataclass(frozen=True, kw_only=True)
class Door:
    """What a socket was opened with: whose session, and for which workspace."""

    session_key: str
    person_id: uuid.UUID
    signed_in_at: datetime | None
    slug: str


def door_of(scope: dict[str, Any], slug: str) -> Door | None:
    """The door by which a socket came; None for one that nobody signed in for."""
    person, session = scope.get("user"), scope.get("session")
    key = getattr(session, "session_key", None)
    if not isinstance(person, Person) or session is None or not key:
        return None
    return Door(session_key=key, person_id=person.pk, signed_in_at=signed_in_at(session), slug=slug)


def visitors(doors: Collection[Door]) -> dict[Door, MemberCaller]:
    """Who is behind these doors, as members of the workspaces, as they are now; the same few queries for any number.

    Left out are those who are no members, were disabled since they signed in, or signed out since the socket opened.
    """
    sessions = import_module(settings.SESSION_ENGINE).SessionStore.get_model_class().objects
    keys = {door.session_key for door in doors}
    alive = set(sessions.filter(session_key__in=keys).values_list("session_key", flat=True))
    callers = {
        (caller.member.person_id, caller.member.workspace.slug): caller
        for caller in active_callers({(door.person_id, door.slug) for door in doors})
    }
    found = {door: callers.get((door.person_id, door.slug)) for door in doors if door.session_key in alive}
    return {
        door: caller
        for door, caller in found.items()
        if caller is not None and caller.member.takes(door.signed_in_at)
    }


def visitor(scope: dict[str, Any], slug: str) -> MemberCaller | None:
    """The same for one socket; None where nobody is behind it."""
    door = door_of(scope, slug)
    return visitors([door]).get(door) if door is not None else None


def is_signed_in(session_key: str) -> bool:
    """Whether this is the session of somebody who is signed in; asked before a body is read, so it writes nothing."""
    if not _SESSION_KEY.fullmatch(session_key):
        return False  # whatever it is, it is not worth a query
    session = import_module(settings.SESSION_ENGINE).SessionStore(session_key).load()
    person = one_or_none(Person.objects.filter(pk=session.get(SESSION_KEY), is_active=True))
    if person is None:
        return False
    return constant_time_compare(session.get(HASH_SESSION_KEY, ""), person.get_session_auth_hash())
