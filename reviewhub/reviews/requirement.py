"""What sign-off one request needs, as it is stored with the request."""

from __future__ import annotations

import uuid

from pydantic import BaseModel, ConfigDict

from reviewhub.policies.rules import VERDICTS, Requirement

# The answers to "did it happen?".
UNKNOWN = ("happened", "did_not_happen", "skip")


class Stored(BaseModel):
    """The requirement that policy named, the teams that may decide, and why people are asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requirement: Requirement
    teams: tuple[uuid.UUID, ...]
    policy_version: int = 0
    rule: str = ""
    text: str = ""

    def decisions(self, kind: str) -> tuple[str, ...]:
        """The answers that are possible to a request of this kind; rejecting an approval always is."""
        if kind == "unknown":
            return UNKNOWN
        allowed = self.requirement.allowed_decisions
        return tuple(verdict for verdict in VERDICTS if verdict in allowed or verdict == "reject")
