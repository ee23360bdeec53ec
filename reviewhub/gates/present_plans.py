"""Plans as the API shows them: reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reviewhub_agents import wire

from reviewhub.plans.content import stored
from reviewhub.plans.models import PlanVersion, StepMark
from reviewhub.plans.queries import Standing, numbers_in_force, standing
from reviewhub.plans.rules import Difference, Step, difference


def plan_out(row: PlanVersion) -> wire.PlanOut:
    """A version with its steps as they stand now."""
    content, now = stored(row), standing(row)
    forced = numbers_in_force([row.branch_id])
    return wire.PlanOut(
        **_head(row, in_force=forced[row.branch_id] == row.number),
        run=row.run_id,
        steps=_steps(content.tree, now),
        assumptions=[wire.Assumption(id=one, text=text) for one, text in content.assumptions.items()],
    )


def plan_heads(rows: Sequence[PlanVersion]) -> list[wire.PlanHead]:
    """Versions without what they say."""
    forced = numbers_in_force({row.branch_id for row in rows})
    return [wire.PlanHead(**_head(row, in_force=forced[row.branch_id] == row.number)) for row in rows]


def mark_out(row: StepMark) -> wire.MarkOut:
    """A mark."""
    return wire.MarkOut(
        number=row.number,
        step=row.step,
        status=wire.StepStatus(row.status),
        note=row.note,
        at=row.created_at,
    )


def plan_difference(one: PlanVersion, other: PlanVersion) -> Difference:
    """What differs in `other`."""
    before, after = stored(one), stored(other)
    return difference(before.steps, after.steps, before.assumptions, after.assumptions)


def plan_difference_out(found: Difference) -> wire.PlanDifferenceOut:
    """What differs between two versions."""
    steps = [
        wire.PlanStepChange(step=one.step, kind=one.kind, **_sides(_place(one.before), _place(one.after)))
        for one in found.steps
    ]
    texts = [
        wire.AssumptionChange(assumption=one.assumption, kind=one.kind, **_sides(one.before, one.after))
        for one in found.assumptions
    ]
    return wire.PlanDifferenceOut(steps=steps, assumptions=texts)


def _sides(before: Any, after: Any) -> dict[str, Any]:
    return {name: side for name, side in (("before", before), ("after", after)) if side is not None}


def _place(step: Step | None) -> wire.PlanPlace | None:
    if step is None:
        return None
    within = {"parent": step.parent} if step.parent else {}
    return wire.PlanPlace(title=step.title, number=step.number, **within)


def _head(row: PlanVersion, *, in_force: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "version": row.number,
        "branch": row.branch_id,
        "branch_name": row.branch.name,
        "why": _why(row),
        "author": wire.By(kind=wire.ByKind(row.author_kind), name=row.author_name),
        "created_at": row.created_at,
        "is_in_force": in_force,
    }
    if row.base:
        shown["base"] = row.base
    if row.restores:
        shown["restores"] = row.restores
    return shown


def _why(row: PlanVersion) -> wire.PlanWhy:
    said: dict[str, Any] = {"kind": wire.PlanWhyKind(row.why_kind)}
    if row.failures is not None:
        said["failures"] = row.failures
    if row.assumption:
        said["assumption"] = row.assumption
    if row.reason:
        said["text"] = row.reason
    return wire.PlanWhy(**said)


def _steps(tree: Sequence[Mapping[str, Any]], now: Mapping[str, Standing]) -> list[wire.PlanStepOut]:
    return [_step(step, now) for step in tree]


def _step(step: Mapping[str, Any], now: Mapping[str, Standing]) -> wire.PlanStepOut:
    found = now.get(step["id"], Standing("pending"))
    shown: dict[str, Any] = {
        "id": step["id"],
        "title": step["title"],
        "status": wire.StepStatus(found.status),
    }
    if found.note:
        shown["note"] = found.note
    if found.at is not None:
        shown["at"] = found.at
    if step.get("steps"):
        shown["steps"] = _steps(step["steps"], now)
    return wire.PlanStepOut(**shown)
