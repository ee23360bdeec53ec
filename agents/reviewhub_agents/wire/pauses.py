"""Pauses and observations: the two ways to tell ReviewHub of tool calls."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Wire
from .budgets import FieldWarnings
from .calls import HowItEnded, ToolCallIn, ToolCallOut
from .checkpoints import CheckpointIn, CheckpointRef
from .enums import PauseStateField, ResumeKind, ResumeKindField
from .fields import Epoch, FewCalls, Id, Name, Positive, Time
from .runs import ContinueFrom


class Resume(Wire):
    """How the agent wants to be woken."""

    kind: ResumeKindField = ResumeKind.POLL


class PauseBody(Wire):
    """`POST /runs/{run}/pauses` with an Idempotency-Key."""

    tool_calls: Annotated[list[ToolCallIn], Field(min_length=1), FewCalls]
    branch: Name = "main"
    checkpoint: CheckpointIn | None = None
    resume: Resume = Resume(kind=ResumeKind.POLL)
    epoch: Epoch | None = None


class PauseOut(Wire):
    """A pause; settled when no call waits."""

    id: Id
    run: Id
    state: PauseStateField
    version: Positive
    tool_calls: list[ToolCallOut]
    branch: Name = "main"
    branch_id: Id | None = None
    checkpoint: CheckpointRef | None = None
    continue_from: ContinueFrom | None = None
    created_at: Time | None = None
    settled_at: Time | None = None
    warnings: FieldWarnings = []


class ObservedCall(ToolCallIn):
    """A call that ran already, and how it ended."""

    outcome: HowItEnded
    started_at: Time | None = None
    ended_at: Time | None = None


class ObservationBody(Wire):
    """`POST /runs/{run}/observations`: recorded, nobody waits."""

    tool_calls: Annotated[list[ObservedCall], Field(min_length=1), FewCalls]
    branch: Name = "main"
    checkpoint: CheckpointIn | None = None
    epoch: Epoch | None = None


class ObservationOut(Wire):
    """The calls as recorded."""

    run: Id
    tool_calls: list[ToolCallOut]
    branch: Name = "main"
    checkpoint: CheckpointRef | None = None
    continue_from: ContinueFrom | None = None
    warnings: FieldWarnings = []
