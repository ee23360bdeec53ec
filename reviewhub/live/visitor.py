"""Who is behind a WebSocket: asked when it opens, and again while it is open."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.utils.crypto import constant_time_compare

from reviewhub.accounts.actors import signed_in_at
from reviewhub.accounts.models import Person, Workspace
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.accounts.queries import active_member
from reviewhub.core.rows import one_or_none

_SESSION_KEY = re.compile(r"[a-z0-9]{32}")


def visitor(scope: dict[str, Any], slug: str) -> MemberCaller | None:
    """The signed-in person as a member of the workspace, as they are now.

    None when they are no member, were disabled since they signed in, or signed out since the socket opened.
    """
    person = scope.get("user")
    if not isinstance(person, Person) or not _session_lives(scope):
        return None
    workspace = one_or_none(Workspace.objects.filter(slug=slug).values_list("pk", flat=True))
    if workspace is None:
        return None
    member = active_member(person_id=person.pk, workspace_id=workspace)
    if member is None or not member.takes(signed_in_at(scope["session"])):
        return None
    return MemberCaller(member)


def is_signed_in(session_key: str) -> bool:
    """Whether this is the session of somebody who is signed in; asked before a body is read, so it writes nothing."""
    if not _SESSION_KEY.fullmatch(session_key):
        return False  # whatever it is, it is not worth a query
    session = import_module(settings.SESSION_ENGINE).SessionStore(session_key).load()
    person = one_or_none(Person.objects.filter(pk=session.get(SESSION_KEY), is_active=True))
    if person is None:
        return False
    return constant_time_compare(session.get(HASH_SESSION_KEY, ""), person.get_session_auth_hash())


def _session_lives(scope: dict[str, Any]) -> bool:
    session = scope.get("session")
    key = getattr(session, "session_key", None)
    store = import_module(settings.SESSION_ENGINE).SessionStore
    return bool(key) and bool(store().exists(key))
