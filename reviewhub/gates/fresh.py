"""A pause as it was just written: whoever answers the request that made it need not read it anew."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import Decision, Grant, Pause, ToolCall


@dataclass(frozen=True, kw_only=True)
class Written:
    """What came of policy's answers, in the order of the calls."""

    decisions: list[Decision]
    grants: list[Grant]
    requests: list[ReviewRequest]


@dataclass(frozen=True, kw_only=True)
class Fresh:
    """The rows of one pause. Its calls have one version, and nobody has voted on them or asked anything."""

    pause: Pause
    branch: Branch
    checkpoint: Checkpoint | None
    calls: list[ToolCall]
    arguments: list[str]
    """Those of the calls."""
    written: Written
