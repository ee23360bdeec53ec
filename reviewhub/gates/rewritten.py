"""What a rewrite made, and what it ended."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.gates.close import Closed
from reviewhub.gates.consequences import Consequences
from reviewhub.runs.models import Branch


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """The new branch with its first checkpoint, what ended with the old branch, and what stays as it happened."""

    branch: Branch
    first: Checkpoint
    old: Consequences
    closed: Closed
