"""Who is behind a WebSocket: asked when it opens, and again while it is open."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings

from reviewhub.accounts.models import Person, Workspace
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.accounts.queries import active_member


def visitor(scope: dict[str, Any], slug: str) -> MemberCaller | None:
    """The signed-in person as a member of the workspace, as they are now.

    None when they are no member, were disabled, or signed out since the socket opened.
    """
    person = scope.get("user")
    if not isinstance(person, Person) or not _session_lives(scope):
        return None
    workspace = Workspace.objects.filter(slug=slug).values_list("pk", flat=True).first()
    if workspace is None:
        return None
    member = active_member(person_id=person.pk, workspace_id=workspace)
    return MemberCaller(member) if member is not None else None


def _session_lives(scope: dict[str, Any]) -> bool:
    session = scope.get("session")
    key = getattr(session, "session_key", None)
    store = import_module(settings.SESSION_ENGINE).SessionStore
    return bool(key) and bool(store().exists(key))
