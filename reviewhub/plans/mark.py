"""Says how far steps of a plan are: rows beside the version, which stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.db.models import Max
from reviewhub_agents import wire

from reviewhub.core.errors import IllegalTransition, Invalid
from reviewhub.plans.content import stored
from reviewhub.plans.models import PlanVersion, StepMark
from reviewhub.plans.queries import Standing, standing
from reviewhub.plans.rules import PENDING
from reviewhub.plans.states import STEP_EDGES

MAX_MARKS: Final = 10_000
"""Marks of one version: whoever comes so far plans anew."""


def mark(*, version: PlanVersion, marks: Sequence[wire.StepMark]) -> int:
    """Writes the marks, all or none, in the caller's transaction and with the version's branch locked.

    A mark that says what stands already, in status and note, is left out, so a repeat changes nothing.

    Returns:
        How many were written.

    Raises:
        Invalid: the version has no such step, or too many marks; with the path.
        IllegalTransition: the step cannot come there from where it is; `extra` has `step` and `state`.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("steps are marked in the transaction of whoever marks them")
    known = {step.id for step in stored(version).steps}
    now = standing(version)
    last = StepMark.objects.filter(version_id=version.pk).aggregate(last=Max("number"))["last"] or 0
    rows: list[StepMark] = []
    for at, one in enumerate(marks):
        if one.step not in known:
            raise Invalid.at(
                f"/marks/{at}/step", f"version {version.number} has no step {one.step!r}", "not_found"
            )
        if _says_more(now.get(one.step, Standing(PENDING)), one):
            number = last + len(rows) + 1
            rows.append(
                StepMark(
                    version=version, number=number, step=one.step, status=one.status.value, note=one.note
                )
            )
            now[one.step] = Standing(one.status.value, one.note)
    if last + len(rows) > MAX_MARKS:
        raise Invalid.at(
            "/marks", f"a version of a plan takes {MAX_MARKS} marks; write a new one", "too_large"
        )
    StepMark.objects.bulk_create(rows)
    return len(rows)


def _says_more(now: Standing, one: wire.StepMark) -> bool:
    """Whether a mark is news. Raises IllegalTransition."""
    status = one.status.value
    if status == now.status:
        return one.note != now.note
    if status not in STEP_EDGES[now.status]:
        said = f"Step {one.step} is {now.status} and cannot become {status}; a new version of the plan can say so."
        raise IllegalTransition(said, step=one.step, state=now.status)
    return True
