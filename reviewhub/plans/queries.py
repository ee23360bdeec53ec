"""Reads of plans: which version is in force, what its steps have come to, and pages of versions and marks."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max
from reviewhub_agents import canonical, wire

from reviewhub.core import keyset
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.core.keyset import Page
from reviewhub.core.rows import one_or_none
from reviewhub.plans.content import stored
from reviewhub.plans.models import PlanVersion, StepMark


@dataclass(frozen=True)
class Standing:
    """How far a step is; `at` is None when it stands so since its version was written."""

    status: str
    note: str = ""
    at: datetime | None = None


def in_force(branch_id: uuid.UUID) -> PlanVersion | None:
    """The newest version of a branch; None when it has no plan."""
    # The base of each version is the one before it, so this is the order of the numbers, and that of an index.
    return PlanVersion.objects.filter(branch_id=branch_id).order_by("-base").first()


def numbers_in_force(branch_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Branch → the number of the version in force; branches without a plan are left out."""
    rows = PlanVersion.objects.filter(branch_id__in=list(branch_ids)).values("branch_id")
    return dict(rows.annotate(newest=Max("number")).values_list("branch_id", "newest"))


def of_number(run_id: uuid.UUID, number: int) -> PlanVersion:
    """A version of a run. Raises NotFound."""
    found = one_or_none(PlanVersion.objects.select_related("branch").filter(run_id=run_id, number=number))
    if found is None:
        raise NotFound(f"The run has no version {number} of a plan.")
    return found


def of_id(version_id: uuid.UUID) -> PlanVersion:
    """A version that was written. Raises NotFound when it is gone with its run's states."""
    found = one_or_none(PlanVersion.objects.select_related("branch").filter(pk=version_id))
    if found is None:
        raise NotFound("This version of the plan was removed with the states of its run.")
    return found


def standing(version: PlanVersion, *, until: datetime | None = None) -> dict[str, Standing]:
    """How far the steps of a version are, by their ids; what is not named is pending.

    Args:
        until: as it was at this time.
    """
    begun: Mapping[str, str] = canonical.reread(version.statuses)  # type: ignore[assignment]
    found = {step: Standing(status) for step, status in begun.items()}
    marks = StepMark.objects.filter(version_id=version.pk)
    if until is not None:
        marks = marks.filter(created_at__lte=until)
    newest = marks.values("step").annotate(newest=Max("number")).values_list("newest", flat=True)
    for mark in StepMark.objects.filter(version_id=version.pk, number__in=list(newest)):
        found[mark.step] = Standing(mark.status, mark.note, mark.created_at)
    return found


def versions_of(run_id: uuid.UUID, *, cursor: str = "", limit: int = 50) -> Page[PlanVersion]:
    """A page of a run's versions on all branches without their content, the newest first. Raises Invalid."""
    rows = PlanVersion.objects.filter(run_id=run_id).select_related("branch").defer("content", "statuses")
    if cursor:
        rows = rows.filter(number__lt=_number_in(cursor))
    found = list(rows.order_by("-number")[: keyset.within(limit) + 1])
    return keyset.cut(found, limit=limit, key=lambda row: [row.number])


def marks_of(version: PlanVersion, *, cursor: str = "", limit: int = 100) -> Page[StepMark]:
    """A page of a version's marks, the newest first. Raises Invalid."""
    rows = StepMark.objects.filter(version_id=version.pk)
    if cursor:
        rows = rows.filter(number__lt=_number_in(cursor))
    found = list(rows.order_by("-number")[: keyset.within(limit) + 1])
    return keyset.cut(found, limit=limit, key=lambda row: [row.number])


def check_ref(run_id: uuid.UUID, ref: wire.PlanRef, *, path: str) -> None:
    """Returns when `ref`, at `path` of what was sent, names a version of the run and a step that it has.

    Any version of the run, also one that is not in force any more: it is where the agent was.

    Raises:
        Invalid: there is no such version, or it has fewer steps.
    """
    found = one_or_none(PlanVersion.objects.filter(run_id=run_id, number=ref.version))
    if found is None:
        said = f"the run has no version {ref.version} of a plan; a plan is sent before a checkpoint names it"
        raise Invalid.at(f"{path}/version", said, "not_found")
    count = len(stored(found).steps)
    if ref.step > count:
        said = f"version {ref.version} has {count} steps with their sub-steps; {ref.step} was given"
        raise Invalid.at(f"{path}/step", said, "not_found")


def _number_in(cursor: str) -> int:
    (number,) = keyset.read(cursor, length=1)
    if type(number) is not int or not 0 < number < 2**31:
        raise keyset.bad_cursor()
    return number
