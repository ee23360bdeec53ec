"""Verdicts: what others than the agent say of its plans, steps and results."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .base import Wire
from .fields import Count, Id, Name, Said, Text, Time

Judges = Literal["proposal", "result"]
Came = Literal["passed", "failed", "error", "timed_out"]
AssumptionId = Annotated[str, StringConstraints(max_length=100)]


class VerdictBody(Wire):
    """`POST /tool-calls/{call}/verdicts`: a verifier in the agent's own code has judged a call.

    `contradicts` is the id of an assumption of the plan that does not hold. A verifier that failed to judge (`error`,
    `timed_out`) has not passed anything.
    """

    name: Name
    source: Literal["function", "model"] = "function"
    judges: Judges = "result"
    status: Came
    detail: Text = ""
    contradicts: AssumptionId = ""


class VerdictOut(Wire):
    """A verdict; a `pending` one is a webhook that was not asked yet or has not answered."""

    id: Id
    name: Name
    source: Literal["function", "model", "webhook", "person"]
    judges: Literal["proposal", "result", "plan"]
    status: Literal["pending", "passed", "failed", "error", "timed_out"]
    detail: Text = ""
    contradicts: AssumptionId = ""
    created_at: Time
    ended_at: Time | None = None


class SignalsOut(Wire):
    """`GET /branches/{branch}/signals`: what speaks against the plan in force (`version`, 0: there is none).

    `failures` in a row since it was written, an assumption that was `contradicted` and `because` of what, what was
    `refused` by a verifier that a rule of policy makes a reason, and what a person said who `asked` for another plan.
    """

    version: Count = 0
    failures: Count = 0
    contradicted: AssumptionId = ""
    because: str = ""
    refused: str = ""
    asked: str = ""


class AskPlanBody(Wire):
    """`POST /runs/{run}/plans/ask`: a person wants another plan. `base` is the version in force as it was shown."""

    branch: Name = "main"
    base: Annotated[Count, Field(ge=1)]
    reason: Said
