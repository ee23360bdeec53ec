"""A branch that begins at a checkpoint takes a plan along."""

from __future__ import annotations

from datetime import datetime

from reviewhub_agents import canonical, wire

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.plans.content import stored
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import in_force, of_number, standing
from reviewhub.plans.rules import carried
from reviewhub.plans.write import Why, write
from reviewhub.runs.models import Branch


def carry_plan(
    *,
    checkpoint: Checkpoint,
    to: Branch,
    choice: wire.PlanChoice,
    why: wire.PlanWhyKind,
    reason: str,
    actor: Actor,
) -> PlanVersion | None:
    """Writes the first version of the new branch `to`, in the caller's transaction; None when there is no plan to take.

    Going back in the execution is not going back in the plan: `keep` takes the plan that is in force on the
    checkpoint's branch, its steps as far as they are now. `checkpoint` takes the version that the checkpoint names, its
    steps as far as they were when it was saved. It is a version of its own, so that the two branches go on apart.

    Args:
        why: `forked` or `rewritten`, whichever began the branch.

    To be called after the other locks of the caller: it locks the run.

    Raises:
        Invalid: `checkpoint` is chosen, and the checkpoint names no version.
    """
    source, until = carried_from(checkpoint, choice)
    if source is None:
        return None
    content = stored(source)
    now = {step: one.status for step, one in standing(source, until=until).items()}
    return write(
        branch=to,
        before=source,
        content=content,
        statuses=carried([step.id for step in content.steps], given={}, standing=now),
        why=Why(kind=why.value, text=reason),
        actor=actor,
    )


def carried_from(
    checkpoint: Checkpoint, choice: wire.PlanChoice
) -> tuple[PlanVersion | None, datetime | None]:
    """The version that would be taken along, None for none; and until when its marks count. Raises Invalid as above."""
    if choice is wire.PlanChoice.CHECKPOINT:
        return _named(checkpoint), checkpoint.created_at
    return in_force(checkpoint.branch_id), None


def _named(checkpoint: Checkpoint) -> PlanVersion:
    ref = canonical.reread(checkpoint.plan)
    if not isinstance(ref, dict):
        raise Invalid.at("/plan", "the checkpoint names no version of a plan", "not_found")
    return of_number(checkpoint.run_id, wire.PlanRef.from_tree(ref).version)
