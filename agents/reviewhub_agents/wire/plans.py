"""Plans: what an agent intends, in versions that never change, and how far its steps are."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from .base import Wire
from .calls import By
from .enums import PlanWhyField, PlanWhyKind, StepStatus, StepStatusField
from .fields import MAX_ITEMS, Count, Epoch, Id, Name, Positive, Said, Text, Time, Title

StepId = Annotated[str, StringConstraints(min_length=1, max_length=100)]
WHY_OF_AGENTS: Final = frozenset(
    {PlanWhyKind.FAILURES, PlanWhyKind.CONTRADICTED, PlanWhyKind.PERSON, PlanWhyKind.AGENT}
)


class PlanStep(Wire):
    """A step, perhaps with sub-steps. Its `id` is unique in the plan and stays the same in later versions.

    `status` left out: as it stands in the version this one is made from, and `pending` for a new step.
    """

    id: StepId
    title: Annotated[Title, StringConstraints(min_length=1)]
    status: StepStatusField | None = None
    steps: list[PlanStep] = []


class Assumption(Wire):
    """What the plan takes for granted."""

    id: StepId
    text: Said


class PlanWhy(Wire):
    """Why a plan changed: so many failures in a row, an assumption that does not hold, a person, or as `text` says.

    `first`, `restored`, `forked` and `rewritten` are the server's own words.
    """

    kind: PlanWhyField
    failures: Positive | None = None
    assumption: StepId | None = None
    text: Text = ""

    @model_validator(mode="after")
    def _says_what_its_kind_needs(self) -> Self:
        if (self.kind is PlanWhyKind.FAILURES) != (self.failures is not None):
            raise ValueError("failures goes with the kind failures: how many in a row.")
        if (self.kind is PlanWhyKind.CONTRADICTED) != (self.assumption is not None):
            raise ValueError(
                "assumption goes with the kind contradicted: the id of the one that does not hold."
            )
        return self


def _of_an_agent(why: PlanWhy) -> PlanWhy:
    if why.kind not in WHY_OF_AGENTS:
        raise ValueError(f"An agent does not say {why.kind.value}.")
    return why


class PlanBody(Wire):
    """`POST /runs/{run}/plans` with an Idempotency-Key: a new version of the plan of a branch.

    `base` is the version that it was made from, 0 for none yet; left out it is the one in force. A version that is
    made from another one says `why`.
    """

    branch: Name = "main"
    base: Count | None = None
    steps: list[PlanStep]
    assumptions: Annotated[list[Assumption], Field(max_length=MAX_ITEMS)] = []
    why: Annotated[PlanWhy, AfterValidator(_of_an_agent)] | None = None
    epoch: Epoch | None = None
    call: Annotated[Id | None, Field(description="The consumed `rh.plan`, where people had to agree.")] = None


class StepMark(Wire):
    """A step has come to `status`; `note` says more, also when the status stays."""

    step: StepId
    status: StepStatusField
    note: Text = ""


class MarksBody(Wire):
    """`POST /runs/{run}/plans/{version}/marks`: how far steps are, all or none. What stands already changes nothing."""

    marks: Annotated[list[StepMark], Field(min_length=1, max_length=MAX_ITEMS)]
    epoch: Epoch | None = None


class MarkOut(Wire):
    """A step came to a status."""

    number: Positive
    step: StepId
    status: StepStatusField
    note: Text = ""
    at: Time


class MarkList(Wire):
    """The newest first; `next` is the cursor of the following page."""

    items: list[MarkOut]
    next: str | None = None


class PlanStepOut(Wire):
    """A step as it stands now; `at` is when it came there, left out when it stands so since the version was written."""

    id: StepId
    title: Title
    status: StepStatusField = StepStatus.PENDING
    note: Text = ""
    at: Time | None = None
    steps: list[PlanStepOut] = []


class PlanHead(Wire):
    """A version without its steps. `is_in_force` says that it is the newest of its branch."""

    version: Positive
    branch: Id
    branch_name: Name
    base: Positive | None = None
    restores: Positive | None = None
    why: PlanWhy
    author: By
    created_at: Time
    is_in_force: bool


class PlanOut(PlanHead):
    """A version with its steps as they stand now."""

    run: Id
    steps: list[PlanStepOut]
    assumptions: list[Assumption] = []


class PlanList(Wire):
    """The newest first; `next` is the cursor of the following page."""

    items: list[PlanHead]
    next: str | None = None


class PlanPlace(Wire):
    """Where a step stands in a version: its title, the step it belongs to, and its number in reading order from 1."""

    title: Title
    parent: StepId | None = None
    number: Positive


class PlanStepChange(Wire):
    """A step that differs; one that moved and has another title is there twice."""

    step: StepId
    kind: Literal["added", "removed", "moved", "changed"]
    before: PlanPlace | None = None
    after: PlanPlace | None = None


class AssumptionChange(Wire):
    """An assumption that differs."""

    assumption: StepId
    kind: Literal["added", "removed", "changed"]
    before: Text | None = None
    after: Text | None = None


class PlanDifferenceOut(Wire):
    """`GET /runs/{run}/plans/{version}/difference/{other}`: what differs in the other one."""

    steps: list[PlanStepChange]
    assumptions: list[AssumptionChange]


class RestorePlanBody(Wire):
    """`POST /runs/{run}/plans/{version}/restore`: an older plan becomes the branch's newest; nothing else changes.

    `base` is the version in force as it was shown, 0 for none.
    """

    branch: Name = "main"
    base: Count
    reason: Said
