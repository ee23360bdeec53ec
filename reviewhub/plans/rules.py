"""What a plan may be, how two of them differ, and what becomes of the steps' statuses. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal, NamedTuple

MAX_NESTING: Final = 4
"""A step, its sub-steps, theirs, and theirs."""
PENDING: Final = "pending"
Kind = Literal["added", "removed", "moved", "changed"]


class Fault(NamedTuple):
    """What is wrong with a plan: a JSON pointer, a stable code and a sentence."""

    path: str
    code: str
    message: str


@dataclass(frozen=True)
class Step:
    """A step in reading order: `number` counts from 1, `parent` is the id of the step it belongs to, or empty."""

    id: str
    title: str
    parent: str
    number: int
    depth: int
    path: str


@dataclass(frozen=True)
class StepChange:
    """A step that differs between two plans."""

    step: str
    kind: Kind
    before: Step | None = None
    after: Step | None = None


@dataclass(frozen=True)
class TextChange:
    """An assumption that differs between two plans."""

    assumption: str
    kind: Literal["added", "removed", "changed"]
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True)
class Difference:
    """What differs: steps in the order of the newer plan (removed ones first), and assumptions."""

    steps: list[StepChange]
    assumptions: list[TextChange]


def in_order(steps: Sequence[Mapping[str, Any]]) -> list[Step]:
    """The steps of a plan with their sub-steps, in reading order."""
    found: list[Step] = []
    for step, parent, depth, path in _walk(steps, "", 1, ""):
        found.append(
            Step(
                id=step["id"],
                title=step["title"],
                parent=parent,
                number=len(found) + 1,
                depth=depth,
                path=path,
            )
        )
    return found


def _walk(
    steps: Sequence[Mapping[str, Any]], parent: str, depth: int, path: str
) -> Iterator[tuple[Mapping[str, Any], str, int, str]]:
    for at, step in enumerate(steps):
        here = f"{path}/steps/{at}"
        yield step, parent, depth, here
        yield from _walk(step.get("steps", ()), step["id"], depth + 1, here)


def fault_of(
    steps: Sequence[Step], assumptions: Sequence[Mapping[str, Any]], *, most_steps: int
) -> Fault | None:
    """Why a plan is not taken; None when it is. Ids are unique, sub-steps nest MAX_NESTING deep at most."""
    if not steps:
        return Fault("/steps", "missing", "A plan has at least one step.")
    if len(steps) > most_steps:
        said = f"There are {len(steps)} steps with their sub-steps; the limit is {most_steps}."
        return Fault("/steps", "too_large", said)
    for step in steps:
        if step.depth > MAX_NESTING:
            return Fault(step.path, "too_large", f"Steps nest {MAX_NESTING} deep at most.")
    twice = _twice([step.id for step in steps])
    if twice is not None:
        return Fault(f"{steps[twice].path}/id", "named_twice", "Another step has this id already.")
    twice = _twice([one["id"] for one in assumptions])
    if twice is not None:
        return Fault(f"/assumptions/{twice}/id", "named_twice", "Another assumption has this id already.")
    return None


def _twice(ids: Sequence[str]) -> int | None:
    seen: set[str] = set()
    for at, one in enumerate(ids):
        if one in seen:
            return at
        seen.add(one)
    return None


def carried(steps: Sequence[str], *, given: Mapping[str, str], standing: Mapping[str, str]) -> dict[str, str]:
    """The statuses with which a new version begins, of the steps that are not pending.

    What an agent says of a step holds; of others what holds already: a new plan undoes nothing that was done.

    Args:
        steps: the ids of the new version.
        given: what its writer says.
        standing: how far the steps of the version before are.
    """
    begun = {step: given.get(step) or standing.get(step, PENDING) for step in steps}
    return {step: status for step, status in begun.items() if status != PENDING}


def difference(
    before: Sequence[Step], after: Sequence[Step], old: Mapping[str, str], new: Mapping[str, str]
) -> Difference:
    """How two plans differ, by the ids of their steps and assumptions (`old` and `new`: id → text).

    A step has moved when it belongs to another step, or when it is not among those of its parent that kept their order;
    steps that only make room for others have not.
    """
    was, now = {step.id: step for step in before}, {step.id: step for step in after}
    changes = [StepChange(one.id, "removed", before=one) for one in before if one.id not in now]
    stayed = _stayed(before, after)
    for step in after:
        earlier = was.get(step.id)
        if earlier is None:
            changes.append(StepChange(step.id, "added", after=step))
            continue
        if step.id not in stayed:
            changes.append(StepChange(step.id, "moved", before=earlier, after=step))
        if step.title != earlier.title:
            changes.append(StepChange(step.id, "changed", before=earlier, after=step))
    return Difference(steps=changes, assumptions=_texts(old, new))


def _stayed(before: Sequence[Step], after: Sequence[Step]) -> set[str]:
    """The steps that have the same parent and, among its steps, the same order."""
    parents = {step.id: step.parent for step in after}
    groups: dict[str, tuple[list[str], list[str]]] = {}
    common = {step.id for step in before if parents.get(step.id) == step.parent}
    for side, steps in enumerate((before, after)):
        for step in steps:
            if step.id in common:
                groups.setdefault(step.parent, ([], []))[side].append(step.id)
    return {
        one
        for old, new in groups.values()
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        for one in old[block.a : block.a + block.size]
    }


def _texts(old: Mapping[str, str], new: Mapping[str, str]) -> list[TextChange]:
    changes = [TextChange(one, "removed", before=text) for one, text in old.items() if one not in new]
    for one, text in new.items():
        if one not in old:
            changes.append(TextChange(one, "added", after=text))
        elif old[one] != text:
            changes.append(TextChange(one, "changed", before=old[one], after=text))
    return changes


def because(kind: str, *, failures: int | None, assumption: str, text: str) -> str:
    """Why a version was written, as a sentence without its end: "3 failures in a row: the carrier is closed"."""
    failed = "1 failure" if failures == 1 else f"{failures} failures in a row"
    said = {
        "first": "the first plan",
        "failures": failed,
        "contradicted": f"assumption {assumption} does not hold",
        "person": "a person asked for it",
        "agent": "",
        "restored": "restored",
        "forked": "taken along by the fork",
        "rewritten": "taken along by the rewrite",
    }[kind]
    return ": ".join(filter(None, (said, text))) or "no reason given"
