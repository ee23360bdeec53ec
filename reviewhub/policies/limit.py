"""A limit as data: how often, or for how much, calls of a tool may run within a time. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from reviewhub.policies.index import is_about
from reviewhub.policies.names import reads_like
from reviewhub.policies.requirement import Approvals, Data, Name, Path, Seconds, fault

MOST_AMOUNT = 10**12
DECIMALS = 6
AMOUNT_PATTERN = rf"^(0|[1-9][0-9]{{0,12}})(\.[0-9]{{1,{DECIMALS}}})?$"
Amount = Annotated[str, StringConstraints(max_length=20, pattern=AMOUNT_PATTERN)]


class Limit(Data):
    """No more than `most` calls within `window_seconds`, or, with `sum_of`, calls whose argument adds up to no more.

    It is about the calls that a `require` rule with the same tool, agent, team and environment is about. `per` says
    whether each agent is counted for itself or all together. What would pass it is denied or needs an approval
    (`then`), whatever a rule or a standing approval says.
    """

    name: Name
    tool: Name
    agent: Name | None = None
    agent_team: Name | None = None
    environment: Name | None = None
    per: Literal["agent", "all"] = "agent"
    window_seconds: Seconds
    sum_of: Path | None = None
    # A text where it is no whole number: no float ever holds an amount.
    most: int | Amount
    then: Literal["require", "deny"] = "require"
    team: Name | None = None
    approvals: Approvals = 1
    deadline_seconds: Seconds | None = None

    @model_validator(mode="after")
    def _a_most_that_can_be_counted(self) -> Self:
        if isinstance(self.most, int) and not self.most >= 0:
            raise fault("/most", "most cannot be less than nothing")
        if self.maximum > MOST_AMOUNT:
            raise fault("/most", f"most is more than can be counted, {MOST_AMOUNT}")
        if self.sum_of is None and not isinstance(self.most, int):
            raise fault("/most", "without sum_of calls are counted, and most is a whole number of them")
        given = [name for name in ("team", "approvals", "deadline_seconds") if name in self.model_fields_set]
        if self.then == "deny" and given:
            raise fault(f"/{given[0]}", f"{given[0]} belongs to then require, not to deny")
        return self

    @property
    def named_teams(self) -> set[str]:
        """The teams that it names."""
        return {name for name in (self.team, self.agent_team) if name is not None}

    @property
    def lets_run(self) -> bool:
        """Never: it only holds back."""
        return False

    @property
    def deadline(self) -> str:
        """Until when a call that it holds waits, in words; empty for as long as it takes."""
        return _span(self.deadline_seconds) if self.deadline_seconds is not None else ""

    @property
    def maximum(self) -> Decimal:
        """`most`, exactly."""
        return Decimal(self.most)

    def is_about(self, *, tool: str, agent: str, agent_team: str, environment: str) -> bool:
        """Whether calls such as this one are counted: names however they are spelled, as in a rule that holds."""
        same = ((self.agent, agent), (self.agent_team, agent_team), (self.environment, environment))
        return is_about(self, tool) and all(
            wanted is None or reads_like(wanted, given) for wanted, given in same
        )

    def __str__(self) -> str:
        what = f"{self.sum_of} up to {self.most}" if self.sum_of else f"{self.most} calls"
        return f"{what} {'by each agent' if self.per == 'agent' else 'by all agents'} in {_span(self.window_seconds)}"


class WaitingLimit(Data):
    """No more than `most` requests of an agent wait for people at one time; what would be more is refused and not kept.
    Only a request about an unknown outcome is never refused; it counts for what comes after.

    It is about each agent by itself: about all, about one, or about those of a team.
    """

    name: Name
    agent: Name | None = None
    agent_team: Name | None = None
    most: int = Field(ge=0, le=1_000_000)

    def is_about(self, *, agent: str, agent_team: str) -> bool:
        """Whether it is about this agent."""
        same = ((self.agent, agent), (self.agent_team, agent_team))
        return all(wanted is None or reads_like(wanted, given) for wanted, given in same)

    @property
    def named_teams(self) -> set[str]:
        """The teams that it names."""
        return {self.agent_team} if self.agent_team is not None else set()


def _span(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
