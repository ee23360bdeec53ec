"""What a run's state weighs, and what is said about a field that is too heavy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Wire
from .fields import Count, Id, Int, Name

Percent = Annotated[Count, Field(description="Percent of the state's bytes, rounded.")]


class FieldWarning(Wire):
    """A field above its budget. Nothing is refused for it; `bytes` is what it weighs, for `growth` what was added."""

    field: str
    why: Literal["size", "growth"]
    bytes: Count
    limit: Count
    share: Percent


FieldWarnings = Annotated[
    list[FieldWarning],
    Field(
        description="Fields of the state just saved that are above their budget; a repeat leaves them out."
    ),
]


class FieldWeight(Wire):
    """One field: bytes of its canonical text, an estimate of its tokens in a prompt, and times in microseconds.

    `grown` is in bytes since the first of the steps. What is not known or not measured is left out. A name of more than
    200 characters is cut.
    """

    field: str
    bytes: Count
    share: Percent
    tokens: Count
    limit: Count | None = None
    grown: Int | None = None
    read_us: Count | None = None
    write_us: Count | None = None


class StepWritten(Wire):
    """What one checkpoint wrote: bytes of its row, and of the blobs that were new with it (left out: not known)."""

    checkpoint: Id
    number: Count
    branch_name: Name
    row: Count
    blobs: Count | None = None


class Kept(Wire):
    """What a run keeps in the database: its checkpoints on all branches, and the bytes of their rows and blobs."""

    checkpoints: Count
    bytes: Annotated[Int, Field(ge=0)]


class BudgetOut(Wire):
    """`GET /runs/{run}/budget`: the state at the head of a branch on the scales, the heaviest fields first.

    `kept` is of the whole run. `others` are the fields that are not listed. `tokens` are estimated. `steps` are the
    newest checkpoints, the oldest of them first.
    """

    run: Id
    branch: Name
    checkpoint: Id | None = None
    kept: Kept
    bytes: Count = 0
    tokens: Count = 0
    fields: list[FieldWeight]
    others: Count = 0
    others_bytes: Count = 0
    steps: list[StepWritten]
    warnings: list[FieldWarning]
