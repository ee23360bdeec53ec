"""What a plan says, as it is sent and as it is stored: one canonical text, without how far the steps are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from reviewhub_agents import canonical, wire

from reviewhub.core.errors import Invalid
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.rules import Step, fault_of, in_order


@dataclass(frozen=True)
class Content:
    """A plan: its canonical text, and what is in it.

    `tree` are the steps as they nest, each {id, title, steps?}; `steps` the same in reading order; `assumptions` their
    ids and texts in order; `given` the statuses that the writer sent, by step id (none when it was read from a row).
    """

    text: str
    tree: list[dict[str, Any]]
    steps: list[Step]
    assumptions: dict[str, str]
    given: Mapping[str, str]


def sent(steps: Sequence[wire.PlanStep], assumptions: Sequence[wire.Assumption]) -> Content:
    """A plan as an agent sends it.

    Raises:
        Invalid: no step, more than LIMIT_PLAN_STEPS, nested too deep, an id twice, or more than LIMIT_PLAN_BYTES of
            canonical text; with the path.
    """
    given: dict[str, str] = {}
    tree = [_plain(step, given) for step in steps]
    rows = [{"id": one.id, "text": one.text} for one in assumptions]
    ordered = in_order(tree)
    fault = fault_of(ordered, rows, most_steps=settings.LIMIT_PLAN_STEPS)
    if fault is not None:
        raise Invalid.at(fault.path, fault.message, fault.code)
    text = canonical.dumps({"assumptions": rows, "steps": tree})
    size = len(text.encode())
    if size > settings.LIMIT_PLAN_BYTES:
        said = f"The plan has {size} bytes; the limit is {settings.LIMIT_PLAN_BYTES}."
        raise Invalid.at("/steps", said, "too_large")
    return Content(text, tree, ordered, {one["id"]: one["text"] for one in rows}, given)


def stored(version: PlanVersion) -> Content:
    """What a version says."""
    read: Any = canonical.reread(version.content)
    assumptions = {one["id"]: one["text"] for one in read["assumptions"]}
    return Content(version.content, read["steps"], in_order(read["steps"]), assumptions, {})


def _plain(step: wire.PlanStep, given: dict[str, str]) -> dict[str, Any]:
    if step.status is not None:
        given[step.id] = step.status.value
    plain: dict[str, Any] = {"id": step.id, "title": step.title}
    if step.steps:
        plain["steps"] = [_plain(each, given) for each in step.steps]
    return plain
