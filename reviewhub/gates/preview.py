"""What a fork or a rewrite would do, worked out as the deed itself would up to where it writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reviewhub_agents import wire

from reviewhub.accounts.permissions import AgentStopped
from reviewhub.checkpoints.difference import Difference, between
from reviewhub.checkpoints.fork import beginning, check_free
from reviewhub.checkpoints.load import load_state
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.gates.carry_plan import carried_from
from reviewhub.gates.consequences import Consequences, of_branch, still_open
from reviewhub.gates.set_aside import setting_aside
from reviewhub.runs.models import Branch


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The new branch's first state as it differs from the checkpoint's, and the old branch's calls.

    `size` in bytes of canonical text; `plan` is the version that the new branch would take along, None for none.
    """

    found: Consequences
    difference: Difference
    state_hash: str
    size: int
    plan: int | None


@setting_aside()
def preview(
    *,
    checkpoint: Checkpoint,
    changes: Sequence[wire.Change],
    plan: wire.PlanChoice,
    supersedes: bool,
    name: str | None = None,
) -> Preview:
    """What would come of going on from `checkpoint` with these changes. Writes nothing.

    Args:
        supersedes: whether it is a rewrite, which needs an open branch.
        name: that the new branch is to have; None for the next free one.

    Raises:
        What the fork or the rewrite would, as things stand: another may come in between.
    """
    branch = Branch.objects.select_related("run__agent").get(pk=checkpoint.branch_id)
    if supersedes:
        still_open(branch)
    if branch.run.agent.stopped_at is not None:
        raise AgentStopped
    if name is not None:
        check_free(checkpoint.run_id, name)
    first = beginning(checkpoint=checkpoint, changes=[change.to_tree() for change in changes], reason="")
    source, _ = carried_from(checkpoint, plan)
    made = first.placed.state
    return Preview(
        found=of_branch(branch, checkpoint),
        difference=between(load_state(checkpoint), made),
        state_hash=made.state_hash,
        size=made.size,
        plan=source.number if source else None,
    )
