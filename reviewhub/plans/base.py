"""The version that a new one stands on: the optimistic lock of a plan."""

from __future__ import annotations

from reviewhub.core.errors import Conflict
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import in_force
from reviewhub.runs.models import Branch


class StalePlan(Conflict):
    """Another version of the plan is in force by now; `version` says which."""

    code = "stale_plan"


def base(*, branch: Branch, number: int | None) -> PlanVersion | None:
    """The version in force on a branch, if it is the one that the writer means.

    Args:
        branch: locked by the caller.
        number: of the version that the writer saw, 0 for none; None takes whatever is in force.

    Returns:
        The version in force, None when there is none yet.

    Raises:
        StalePlan: it is another one; `extra` has its number as `version` (None when there is none).
    """
    found = in_force(branch.pk)
    current = found.number if found else 0
    if number is not None and number != current:
        said = f"version {current} is in force" if current else "there is no plan yet"
        raise StalePlan(f"This was made from version {number} of the plan; {said}.", version=current or None)
    return found
