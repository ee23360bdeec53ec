"""Which buttons stand above a run, and why one of them is disabled."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reviewhub.accounts.permissions import Action
from reviewhub.runs.models import Branch
from reviewhub.runs.states import OPEN_BRANCH, BranchState

CONTROL = (Action.RUN_HALT, Action.RUN_RESUME, Action.RUN_CANCEL)
NOT_YOURS = "Only people of a team that looks after this run may do it."


@dataclass(frozen=True, kw_only=True)
class Control:
    """One button above a run: what it does, where its form goes, and why it is disabled, if it is."""

    verb: str
    label: str
    help: str
    path: str
    send: str
    why_not: str = ""


def controls(
    *, run_id: uuid.UUID, branches: Sequence[Branch], may: Collection[Action], stopped: bool
) -> list[Control]:
    """The buttons that make sense for a run as it is, those that this person may not use with the reason.

    Args:
        may: what the person may do to the run.
        stopped: whether its agent is stopped; nothing of it goes on then.
    """
    going = [branch for branch in branches if branch.state in OPEN_BRANCH]
    found: list[Control] = []
    if any(not branch.is_halted for branch in going):
        found.append(
            Control(
                verb="halt",
                label="Halt run…",
                help="Nothing starts until somebody resumes it. What runs ends first, and people may still decide.",
                path=f"runs/{run_id}/halt",
                send="Halt this run",
                why_not="" if Action.RUN_HALT in may else NOT_YOURS,
            )
        )
    blocked = _blocked(Action.RUN_RESUME in may, stopped)
    if any(branch.is_halted for branch in going):
        found.append(
            Control(
                verb="resume",
                label="Resume run…",
                help="The run goes on from its last checkpoint.",
                path=f"runs/{run_id}/resume",
                send="Resume",
                why_not=blocked,
            )
        )
    for branch in branches:
        if branch.state == BranchState.QUARANTINED:
            label = "Try again…" if len(branches) == 1 else f"Try {branch.name} again…"
            found.append(
                Control(
                    verb="retry",
                    label=label,
                    help="The branch goes on from its last checkpoint. An earlier one can be opened and forked.",
                    path=f"branches/{branch.pk}/retry",
                    send="Try again",
                    why_not=blocked,
                )
            )
    if going or any(branch.state == BranchState.QUARANTINED for branch in branches):
        found.append(
            Control(
                verb="cancel",
                label="Cancel run…",
                help="The run ends, what waits is closed, and the agent is told why.",
                path=f"runs/{run_id}/cancel",
                send="Cancel this run",
                why_not="" if Action.RUN_CANCEL in may else NOT_YOURS,
            )
        )
    return found


def _blocked(may: bool, stopped: bool) -> str:
    if not may:
        return NOT_YOURS
    return "The agent is stopped. Start it on the page of agents first." if stopped else ""
