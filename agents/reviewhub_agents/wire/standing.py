"""Standing approvals as people see them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Wire
from .fields import Count, Digest, Id, Json, Name, Positive, Text, Time, Title


class StandingOut(Wire):
    """One standing approval. `request` is the number of the request that it was made from.

    `state`: it is `in_force`, or ended because it was `revoked`, its time is `over`, or it is `used_up`.
    """

    id: Id
    request: Positive
    state: Annotated[str, Field(pattern="^(in_force|revoked|over|used_up)$")]
    agent: Name
    environment: Name
    tool: Title
    owner: Title
    team: Title
    covers: Text
    digest: Digest | None = None
    when: list[Json] = []
    expression: Text | None = None
    run: Id | None = None
    until: Time
    uses: Count
    max_uses: Positive | None = None
    created_at: Time
    revoked_at: Time | None = None
    revoked_by: Title | None = None
    revoked_because: Text | None = None


class StandingList(Wire):
    """`GET /standing-approvals`, the newest first."""

    items: list[StandingOut]
    next: str | None = None
