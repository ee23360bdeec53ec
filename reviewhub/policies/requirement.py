"""What sign-off a call needs: stages of teams, and everything around them. Pure."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

Verdict = Literal["approve", "edit", "reject", "respond"]
OnTimeout = Literal["deny", "allow"]
VERDICTS: tuple[Verdict, ...] = ("approve", "edit", "reject", "respond")
LONGEST_SECONDS = 366 * 24 * 3600
MOST_STAGES = 10
MOST_STEPS = 10

NAME_PATTERN = r"^[^\x00-\x1f\x7f]+$"
PATH_PATTERN = r"^[^\x00-\x1f\x7f.]+(\.[^\x00-\x1f\x7f.]+)*$"
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NAME_PATTERN)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PATH_PATTERN)]
Approvals = Annotated[int, Field(ge=1, le=20)]
Seconds = Annotated[int, Field(ge=1, le=LONGEST_SECONDS)]
Minutes = Annotated[int, Field(ge=1, le=24 * 60)]


def fault(path: str, message: str) -> PydanticCustomError:
    """What is wrong between fields, with the one that is to be mended: pydantic itself would name what they are of."""
    return PydanticCustomError("value_error", "{message}", {"message": message, "path": path})


class Data(BaseModel):
    """Values of a policy: they never change, and nothing is read as something else."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Stage(Data):
    """One team and how many of it have to approve, as a rule says it; `team` None means the agent's own.

    A stage is asked when the one before it has approved, `together` with that one if it says so.
    """

    team: Name | None = None
    approvals: Approvals = 1
    together: bool = False

    def __str__(self) -> str:
        return f"{'with ' if self.together else ''}{self.approvals} from {self.team or 'the agent’s team'}"


class Escalation(Data):
    """One step of the ladder: so long after the request, a team (or the managers) may decide in place of those asked.

    A step adds people and never takes a vote from anybody.
    """

    after_seconds: Seconds
    team: Name | None = None
    managers: bool = False

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.team is None) != self.managers:
            raise fault("/team", "a step names a team, or managers true, and not both")
        return self

    @property
    def to(self) -> str:
        """Whom it adds, in words."""
        return self.team or "the managers"

    def __str__(self) -> str:
        return f"{self.to} after {_words(self.after_seconds)}"


class AskedStage(Data):
    """A stage of one request. `own`: its rule says nothing of teams, so it is the agent's own."""

    team: Name
    approvals: int = Field(default=1, ge=1)
    together: bool = False
    own: bool = False

    def __str__(self) -> str:
        return f"{self.approvals} {'approval' if self.approvals == 1 else 'approvals'} from {self.team}"


class Step(Escalation):
    """A step of the ladder of one request; whoever it adds stands in for `for_teams`."""

    for_teams: tuple[Name, ...] = ()


class Requirement(Data):
    """Who has to sign off, and by when.

    All times count from the request; a deadline of None never expires. With `four_eyes` nobody signs off what they
    started, own or wrote themselves (`reviews.rules.may_vote`). `locked_fields` are places in the arguments that no
    edit changes. `sign_in_minutes`: an approval needs a password given in the last so many minutes.

    Before there were stages a requirement was one `team` and its `approvals`; it is still read so.
    """

    stages: tuple[AskedStage, ...] = Field(min_length=1)
    deny_threshold: int = Field(default=1, ge=1, le=20)
    deadline_seconds: Seconds | None = None
    on_timeout: OnTimeout = "deny"
    allowed_decisions: tuple[Verdict, ...] = VERDICTS
    four_eyes: bool = False
    locked_fields: tuple[Path, ...] = ()
    sign_in_minutes: Minutes | None = None
    typed_confirmation: bool = False
    remind_seconds: Seconds | None = None
    escalation: tuple[Step, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _one_team_is_one_stage(cls, given: Any) -> Any:
        given = _tuples(given)
        if isinstance(given, dict) and "team" in given and "stages" not in given:
            rest = {name: value for name, value in given.items() if name not in ("team", "approvals")}
            stage = {name: given[name] for name in ("team", "approvals") if name in given}
            return rest | {"stages": (stage,)}
        return given

    @classmethod
    def of_own_team(cls, team: str) -> Requirement:
        """One approval of the agent's own team: what holds where nobody says more."""
        return cls(stages=(AskedStage(team=team, own=True),))

    @property
    def team(self) -> str:
        """The team that is asked first."""
        return self.stages[0].team

    @property
    def approvals(self) -> int:
        """How many people have to approve, all stages together."""
        return sum(stage.approvals for stage in self.stages)

    @property
    def turns(self) -> tuple[int, ...]:
        """For each stage, in which turn it is asked, from 0."""
        found: list[int] = []
        for at, stage in enumerate(self.stages):
            found.append(0 if at == 0 else found[-1] + (not stage.together))
        return tuple(found)

    def teams(self) -> list[str]:
        """The teams of its stages, each once."""
        return list(dict.fromkeys(stage.team for stage in self.stages))

    def __str__(self) -> str:
        turns = groupby(zip(self.turns, self.stages, strict=True), key=lambda one: one[0])
        return ", then ".join(" and ".join(str(stage) for _, stage in turn) for _, turn in turns)


def _words(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _tuples(given: Any) -> Any:
    """JSON's lists as tuples: behind a validator that comes before, strict reading takes nothing else for them."""
    if isinstance(given, dict):
        return {name: _tuples(value) for name, value in given.items()}
    return tuple(map(_tuples, given)) if isinstance(given, list) else given
