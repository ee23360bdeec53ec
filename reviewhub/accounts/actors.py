"""From a caller to the actor that the record names."""

from __future__ import annotations

import re
from typing import Literal

from reviewhub.accounts.permissions import AgentCaller, Caller
from reviewhub.core.actors import Actor

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def actor_for(
    caller: Caller, *, source: Literal["page", "api"], ip: str = "", http_request: str = ""
) -> Actor:
    """Who acts, with the name as it is now.

    A person's id is that of their membership, so that the records of two workspaces cannot be joined by it.
    `ip` and `http_request` come from outside: an id of another form than 64 letters, digits, `.`, `_`, `-` is
    left out.
    """
    if not _REQUEST_ID.fullmatch(http_request):
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
        kind="person", id=member.pk, name=member.person.name, source=source, ip=ip, http_request=http_request
    )
