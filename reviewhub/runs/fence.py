"""Keeps late and foreign writers off a branch. Outcomes and progress pass it by: what happened is always taken."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from reviewhub.core import clock
from reviewhub.core.errors import Conflict, IllegalTransition
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import OPEN_BRANCH, BranchState, RunState

_MOST_REWRITES = 1000


class Superseded(Conflict):
    """This branch was superseded; go on from the branch and checkpoint named in continue_from."""

    code = "superseded"


class StaleEpoch(Conflict):
    """Another process holds this branch now."""

    code = "stale_epoch"


class RunEnded(Conflict):
    """This branch has ended and takes no writes any more."""

    code = "run_ended"


class Halted(Conflict):
    """This run is halted. Nothing starts for it until a person resumes it."""

    code = "halted"


def check_not_halted(branch: Branch) -> None:
    """Refuses to start something for a locked branch that is halted. Raises Halted, with `halt` {kind, reason, by}."""
    if not branch.is_halted:
        return
    halt = branch.halts.get(ended_at=None)
    raise Halted(
        f"Halted by {halt.by_name}: {halt.reason}",
        halt={"kind": halt.kind, "reason": halt.reason, "by": halt.by_name},
    )


def check(branch: Branch, epoch: int | None) -> None:
    """Refuses a write for `branch` that is not the holder's.

    Args:
        branch: as locked by the caller's transaction.
        epoch: what the writer says it holds; None for a writer that never claimed (it is fenced by the parent of
            its checkpoint instead, and refused while somebody holds a live lease).

    Raises:
        Superseded: with `continue_from` {branch (its name), branch_id, checkpoint}.
        RunEnded: with `state`.
        StaleEpoch: the writer is not the one who holds the branch.
    """
    check_open(branch)
    if epoch is not None:
        if epoch != branch.epoch:
            raise StaleEpoch(f"The branch is in another epoch by now; {epoch} is over.")
    elif branch.lease_until is not None and branch.lease_until > clock.now():
        raise StaleEpoch(
            f"{branch.lease_owner or 'Another process'} holds this branch; its writes carry an epoch."
        )


def check_open(branch: Branch) -> None:
    """Refuses a write for a branch that goes on elsewhere or has ended. Raises Superseded or RunEnded."""
    if branch.state == BranchState.SUPERSEDED:
        raise Superseded(continue_from=continue_from(branch))
    if branch.state not in OPEN_BRANCH:
        raise RunEnded(
            f"This branch is {branch.state} and takes no writes any more.", state=str(branch.state)
        )


def check_goes_on(run: Run, going: Collection[Branch]) -> None:
    """Refuses what is for a run that goes on, when no branch of it does; a friendly answer would be a lie.

    Args:
        going: its open branches, as locked by the caller's transaction.

    Raises:
        RunEnded: with `state`.
        IllegalTransition: it is set aside.
    """
    if going:
        return
    state = Run.objects.values_list("state", flat=True).get(pk=run.pk)
    if state == RunState.QUARANTINED:
        raise IllegalTransition("This run is set aside: nothing of it goes on.", state=state)
    raise RunEnded(f"This run is {state}: nothing of it goes on.", state=state)


def continue_from(branch: Branch) -> dict[str, Any] | None:
    """Where a superseded branch goes on, `{branch, branch_id, checkpoint}`; None when it is not superseded.

    Follows rewrites of rewrites to the last one.
    """
    if branch.state != BranchState.SUPERSEDED:
        return None
    last = branch
    for _ in range(_MOST_REWRITES):
        if last.superseded_by_id is None:
            break
        last = Branch.objects.get(pk=last.superseded_by_id)
    return {
        "branch": last.name,
        "branch_id": str(last.id),
        "checkpoint": str(last.head) if last.head else None,
    }
