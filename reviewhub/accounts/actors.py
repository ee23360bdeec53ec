"""From a caller to the actor that the record names."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from datetime import datetime
from typing import Any, Literal

from reviewhub.accounts.permissions import AgentCaller, Caller
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now

_SIGNED_IN_AT = "signed_in_at"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def is_request_id(text: str) -> bool:
    """Whether an id of an HTTP request that came from outside can be kept."""
    return _REQUEST_ID.fullmatch(text) is not None


def mark_signed_in(session: MutableMapping[str, Any]) -> None:
    """Keeps in a person's session that they have just shown their password."""
    session[_SIGNED_IN_AT] = now().isoformat()


def signed_in_at(session: Mapping[str, Any]) -> datetime | None:
    """When the person of this session last showed their password; None when that is not known."""
    text = session.get(_SIGNED_IN_AT)
    return datetime.fromisoformat(text) if isinstance(text, str) else None


def actor_for(
    caller: Caller,
    *,
    source: Literal["page", "api"],
    ip: str = "",
    http_request: str = "",
    signed_in_at: datetime | None = None,
) -> Actor:
    """Who acts, with the name as it is now.

    A person's id is that of their membership, so that the records of two workspaces cannot be joined by it.
    `signed_in_at` is of a person's session. `ip` and `http_request` come from outside: an id of another form than 64
    letters, digits, `.`, `_`, `-` is left out.
    """
    if not is_request_id(http_request):
        http_request = ""
    if isinstance(caller, AgentCaller):
        agent = caller.agent
        return Actor(
            kind="agent",
            id=agent.pk,
            name=agent.name,
            source=source,
            ip=ip,
            http_request=http_request,
            key_id=caller.key.pk,
        )
    member = caller.member
    return Actor(
        kind="person",
        id=member.pk,
        name=member.person.name,
        source=source,
        ip=ip,
        http_request=http_request,
        signed_in_at=signed_in_at,
    )
