"""A run's state follows from its branches."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import SYSTEM, Actor
from reviewhub.core.transitions import move
from reviewhub.runs.kinds import RunEnded, RunReopened
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.rules import ENDED, state_of
from reviewhub.runs.states import RUN_EDGES, RunState


def derive(run_id: uuid.UUID, *, actor: Actor = SYSTEM, locked: Run | None = None) -> RunState:
    """Recomputes the state of a run from its branches, in the caller's transaction.

    The run is locked before its branches are read: when two branches end at the same moment, the later one sees
    the earlier one's end, and the run does not stay open. Callers hold their branch locks already; nobody locks a
    run first and a branch afterwards.

    Args:
        actor: who ended (or reopened) the branch, for the record.
        locked: the run, where the transaction has locked it already.
    """
    run = locked or Run.objects.select_for_update(no_key=True).get(pk=run_id)
    branches: Iterable[str] = (
        Branch.objects.filter(run_id=run_id).order_by("-created_at", "-id").values_list("state", flat=True)
    )
    old, new = RunState(run.state), state_of(branches)
    if new == old:
        return new
    move(run, to=new, table=RUN_EDGES, ended_at=clock.now() if new in ENDED else None)
    if new in ENDED:
        _record("run.ended", run, RunEnded(title=str(run), state=new), actor)
    elif old in ENDED:
        _record("run.reopened", run, RunReopened(title=str(run), state=new), actor)
    return new


def _record(kind: str, run: Run, data: RunEnded | RunReopened, actor: Actor) -> None:
    record(
        kind,
        workspace_id=run.workspace_id,
        actor=actor,
        data=data,
        run_id=run.id,
        agent_id=run.agent_id,
        subject_id=run.id,
    )
