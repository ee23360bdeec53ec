"""What sign-off one request needs, as it is stored with the request."""

from __future__ import annotations

import uuid
from typing import Literal

from pydantic import BaseModel, ConfigDict

PEOPLE = ("approve", "edit", "reject", "respond")
UNKNOWN = ("happened", "did_not_happen", "skip")


class Stored(BaseModel):
    """A requirement: whose votes, how many, which decisions, and what happens when nobody answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    teams: tuple[uuid.UUID, ...]
    team_names: tuple[str, ...] = ()
    approvals: int = 1
    deny_threshold: int = 1
    allowed_decisions: tuple[str, ...] = PEOPLE
    four_eyes: bool = False
    deadline_seconds: int | None = None
    on_timeout: Literal["deny", "allow"] = "deny"
    policy_version: int = 0
    rule: str = ""
    text: str = ""

    def allows(self, decision: str) -> bool:
        """Whether a person may answer so; rejecting is always possible (unless an outcome is asked for)."""
        return decision in self.allowed_decisions or (
            decision == "reject" and not set(self.allowed_decisions) & set(UNKNOWN)
        )
