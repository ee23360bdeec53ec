"""A plan as the pages draw it: bounded, however large and hostile it is. The API gives every letter."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.plans.content import stored
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import Standing, in_force, numbers_in_force, standing
from reviewhub.plans.rules import PENDING, Difference, Step, because, difference
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BranchState
from reviewhub.web.templatetags.rh import plan_ref

STEPS = 200
ASSUMPTIONS = 20
VERSIONS = 5
CHANGES = 200
NEAR = 6  # steps before and after the current one
LOOKS = {
    "pending": ("todo", "Not started"),
    "running": ("play", "Under way"),
    "done": ("check", "Done"),
    "failed": ("x", "Failed"),
    "skipped": ("right", "Skipped"),
}


@dataclass(frozen=True)
class Line:
    """A step as it stands: `depth` from 1, `icon` and `word` of its status."""

    step: Step
    status: str
    icon: str
    word: str
    note: str
    at: datetime | None


@dataclass(frozen=True)
class Version:
    """A version with why it came about, in words, and whether it is in force on a branch that is not superseded."""

    row: PlanVersion
    because: str
    is_in_force: bool


@dataclass(frozen=True)
class Plan:
    """One version with as many of its steps and assumptions as a page takes."""

    version: Version
    lines: list[Line]
    more_steps: int
    done: int
    count: int
    assumptions: list[tuple[str, str]]
    more_assumptions: int


@dataclass(frozen=True)
class Here:
    """The steps of the plan in force around the one at which an agent stands, as far as it said.

    `then` is the version that was in force at the checkpoint, where it is another one by now.
    """

    row: PlanVersion
    lines: list[Line]
    current: int
    """The number of the step, from 1 with sub-steps counted; 0 for none."""
    before: int
    after: int
    done: int
    then: int


@dataclass(frozen=True)
class Lane:
    """What the run page shows: the plan written last, its branch's newest versions, and other branches' plans."""

    plan: Plan
    versions: list[Version]
    others: list[tuple[Branch, int]]


def lane(run_id: uuid.UUID, branches: Sequence[Branch], forced: Mapping[uuid.UUID, int]) -> Lane | None:
    """The plan lane of a run; None when nobody sent a plan. `forced`: the numbers in force of these branches."""
    if not forced:
        return None
    newest = PlanVersion.objects.filter(run_id=run_id).select_related("branch").order_by("-number").first()
    if newest is None:
        return None
    rows = PlanVersion.objects.filter(branch_id=newest.branch_id).select_related("branch")
    return Lane(
        plan=plan(newest, forced),
        versions=versions(list(rows.defer("content", "statuses").order_by("-base")[:VERSIONS]), forced),
        others=[
            (branch, forced[branch.pk])
            for branch in branches
            if branch.pk in forced
            and branch.pk != newest.branch_id
            and branch.state != BranchState.SUPERSEDED
        ][:VERSIONS],
    )


def plan(row: PlanVersion, forced: Mapping[uuid.UUID, int] | None = None) -> Plan:
    """One version, its steps as they stand now."""
    content, now = stored(row), standing(row)
    assumptions = list(content.assumptions.items())
    return Plan(
        version=versions([row], forced)[0],
        lines=[_line(step, now) for step in content.steps[:STEPS]],
        more_steps=max(0, len(content.steps) - STEPS),
        done=sum(_status(step, now) == "done" for step in content.steps),
        count=len(content.steps),
        assumptions=assumptions[:ASSUMPTIONS],
        more_assumptions=max(0, len(assumptions) - ASSUMPTIONS),
    )


def around(branch_id: uuid.UUID, checkpoint: Checkpoint | None) -> Here | None:
    """The plan at a gate; None for a branch without one.

    Args:
        checkpoint: what the agent saved there; it may name the version and the step.
    """
    row = in_force(branch_id)
    if row is None:
        return None
    content, now = stored(row), standing(row)
    ref = plan_ref(checkpoint.plan) if checkpoint else None
    named = ref.step if ref is not None and ref.version == row.number else 0
    running = (at for at, step in enumerate(content.steps, 1) if _status(step, now) == "running")
    current = named or next(running, 0)
    start = max(0, current - 1 - NEAR)
    shown = content.steps[start : start + 2 * NEAR + 1]
    return Here(
        row=row,
        lines=[_line(step, now) for step in shown],
        current=current - start if current else 0,
        before=start,
        after=len(content.steps) - start - len(shown),
        done=sum(_status(step, now) == "done" for step in content.steps),
        then=ref.version if ref is not None and ref.version != row.number else 0,
    )


def versions(rows: Sequence[PlanVersion], forced: Mapping[uuid.UUID, int] | None = None) -> list[Version]:
    """Versions with their reasons. `forced`: the numbers in force of their branches, where the caller knows them."""
    standing_on = {row.branch_id for row in rows if row.branch.state != BranchState.SUPERSEDED}
    if forced is None:
        forced = numbers_in_force(standing_on) if standing_on else {}
    return [
        Version(
            row=row,
            because=_why(row),
            is_in_force=row.branch_id in standing_on and forced.get(row.branch_id) == row.number,
        )
        for row in rows
    ]


def compared(before: PlanVersion, after: PlanVersion) -> Difference:
    """What differs in `after`, as much of it as a page takes."""
    one, other = stored(before), stored(after)
    found = difference(one.steps, other.steps, one.assumptions, other.assumptions)
    return Difference(steps=found.steps[:CHANGES], assumptions=found.assumptions[:CHANGES])


def base_of(branch: Branch) -> int:
    """The number of the version in force on a branch, 0 for none."""
    found = in_force(branch.pk)
    return found.number if found else 0


def _why(row: PlanVersion) -> str:
    if row.why_kind == "restored":
        return f"version {row.restores} restored: {row.reason}"
    return because(row.why_kind, failures=row.failures, assumption=row.assumption, text=row.reason)


def _status(step: Step, now: Mapping[str, Standing]) -> str:
    return now[step.id].status if step.id in now else PENDING


def _line(step: Step, now: Mapping[str, Standing]) -> Line:
    found = now.get(step.id, Standing(PENDING))
    icon, word = LOOKS[found.status]
    return Line(step=step, status=found.status, icon=icon, word=word, note=found.note, at=found.at)
