"""Who did something, with the name as it was then."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Kind = Literal["person", "agent", "policy", "timeout", "system"]


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Who acts, and through which door."""

    kind: Kind
    name: str
    id: uuid.UUID | None = None
    source: str = "schedule"  # page, api or schedule
    ip: str = ""
    http_request: str = field(default="")
    key_id: uuid.UUID | None = None  # of an agent that showed a key; the server's own workers have none
    signed_in_at: datetime | None = None  # when a person last showed their password in this session


SYSTEM = Actor(kind="system", name="system")
TIMEOUT = Actor(kind="timeout", name="system (timeout)")


def policy(version: int) -> Actor:
    """The published policy of that version."""
    return Actor(kind="policy", name=f"policy v{version}")
