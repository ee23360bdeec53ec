"""Which buttons stand above a run, and why one of them is disabled."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reviewhub.accounts.permissions import Action
from reviewhub.runs.models import Branch
from reviewhub.runs.states import OPEN_BRANCH, BranchState

CONTROL = (
    Action.RUN_HALT,
    Action.RUN_RESUME,
    Action.RUN_CANCEL,
    Action.CHECKPOINT_FORK,
    Action.CHECKPOINT_REWRITE,
)
NOT_YOURS = "Only people of a team that looks after this run may do it."
STOPPED = "The agent is stopped. Start it on the page of agents first."
ENDED = "The run has ended."


@dataclass(frozen=True, kw_only=True)
class Control:
    """One button above a run: what it does, where its form goes, and why it is disabled, if it is."""

    verb: str
    label: str
    help: str
    path: str
    send: str
    why_not: str = ""


@dataclass(frozen=True)
class Ways:
    """How a run can go on from one of its checkpoints: why no fork, why no rewrite; empty when there is."""

    no_fork: str
    no_rewrite: str


def ways(branch: Branch, *, may: Collection[Action], stopped: bool) -> Ways:
    """The ways on from a checkpoint of a branch.

    Args:
        may: what the person may do to the run.
        stopped: whether its agent is stopped.
    """
    no_rewrite = _blocked(Action.CHECKPOINT_REWRITE in may, stopped)
    if not no_rewrite and branch.state not in OPEN_BRANCH:
        no_rewrite = (
            f"{branch.name} is {branch.state}: nothing of it can be rewritten. A fork goes on from here."
        )
    return Ways(no_fork=_blocked(Action.CHECKPOINT_FORK in may, stopped), no_rewrite=no_rewrite)


def controls(
    *, run_id: uuid.UUID, branches: Sequence[Branch], may: Collection[Action], stopped: bool
) -> list[Control]:
    """The buttons of a run as it is, those that cannot be used now, or not by this person, with the reason.

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
    quarantined = [branch for branch in branches if branch.state == BranchState.QUARANTINED]
    is_halted = any(branch.is_halted for branch in going)
    if is_halted or not quarantined:
        idle = "Nothing of it is halted." if going else f"{ENDED} A fork of one of its checkpoints goes on."
        found.append(
            Control(
                verb="resume",
                label="Resume run…",
                help="The run goes on from its last checkpoint.",
                path=f"runs/{run_id}/resume",
                send="Resume",
                why_not=blocked if is_halted else idle,
            )
        )
    for branch in quarantined:
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
    found.append(
        Control(
            verb="cancel",
            label="Cancel run…",
            help="The run ends, what waits is closed, and the agent is told why.",
            path=f"runs/{run_id}/cancel",
            send="Cancel this run",
            why_not=ENDED if not (going or quarantined) else "" if Action.RUN_CANCEL in may else NOT_YOURS,
        )
    )
    return found


def _blocked(may: bool, stopped: bool) -> str:
    if not may:
        return NOT_YOURS
    return STOPPED if stopped else ""
