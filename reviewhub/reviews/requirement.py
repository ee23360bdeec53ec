"""What sign-off one request needs, as it is stored with the request."""

from __future__ import annotations

import uuid

from pydantic import BaseModel, ConfigDict

from reviewhub.policies.evaluate import Then
from reviewhub.policies.rules import VERDICTS, Requirement

# The answers to "did it happen?".
UNKNOWN = ("happened", "did_not_happen", "skip")
# After "did_not_happen" the call runs, once more: no answer to what nobody had let run.
UNKNOWN_UNASKED = ("happened", "skip")


class StandIn(BaseModel):
    """Whom a step of the escalation added: a team, or the managers where `team` is None."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    team: uuid.UUID | None
    stages: tuple[int, ...]


class Held(BaseModel):
    """What held a version of a call before an edit: its rule, empty where none let it run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    rule: str


class Stored(BaseModel):
    """The requirement that policy named, the teams that may decide, and why people are asked.

    `teams` are those of its stages and `step_teams` those of the steps of its escalation, in their order (None: the
    managers). `stand_ins` are those that steps have added so far, with the stages in which each may decide.
    `was_let_run`: of a call of unknown outcome, whether policy or people had let it run. `held_before` says which rule
    held each version that an edit took the place of, the oldest first. `then` is what was known of the call when it was
    edited or asked about again; of a call as it was proposed its own `because` says that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    requirement: Requirement
    teams: tuple[uuid.UUID, ...]
    step_teams: tuple[uuid.UUID | None, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()
    policy_version: int = 0
    rule: str = ""
    text: str = ""
    was_let_run: bool = True
    held_before: tuple[Held, ...] = ()
    then: Then | None = None

    def rule_of(self, version: int) -> str | None:
        """The rule that held a version before an edit; None where that was not written down."""
        return next((one.rule for one in self.held_before if one.version == version), None)

    def asked_at(self, turn: int) -> tuple[uuid.UUID, ...]:
        """The teams whose turn this is, each once."""
        found = (team for team, at in zip(self.teams, self.requirement.turns, strict=True) if at == turn)
        return tuple(dict.fromkeys(found))

    def decisions(self, kind: str) -> tuple[str, ...]:
        """The answers that are possible to a request of this kind; rejecting an approval always is."""
        if kind == "unknown":
            return UNKNOWN if self.was_let_run else UNKNOWN_UNASKED
        allowed = self.requirement.allowed_decisions
        return tuple(verdict for verdict in VERDICTS if verdict in allowed or verdict == "reject")
