"""An agent ends its branch as failed."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.checkpoints.draft import Draft, draft
from reviewhub.checkpoints.save import save
from reviewhub.core.actors import Actor
from reviewhub.gates.close import close
from reviewhub.gates.end_children import end_children
from reviewhub.gates.ending import check_ending, ending, keep_ending
from reviewhub.gates.kinds import RunFailed
from reviewhub.gates.set_aside import setting_aside
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.derive import derive
from reviewhub.runs.fence import check
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import lock_branch, lock_children


@setting_aside()
def fail(*, branch_id: uuid.UUID, body: wire.FailBody, actor: Actor) -> Branch:
    """Ends the branch; what still waited in it is cancelled, and so are its child runs.

    Failing a failed branch again changes nothing.

    Raises:
        EndingConflict: it ended already, with other words.
        Superseded, StaleEpoch, RunEnded, StaleHead: this caller may not write for the branch.
    """
    branch = Branch.objects.get(pk=branch_id)
    made = draft(branch=branch, message=body.checkpoint) if body.checkpoint else None
    with transaction.atomic():
        branch = lock_branch(branch_id)
        return _fail(branch, lock_children([branch]), body, made, actor)


def _fail(
    branch: Branch, children: list[Branch], body: wire.FailBody, made: Draft | None, actor: Actor
) -> Branch:
    if branch.state == BranchState.FAILED:
        check_ending(branch, ending(body))
        return branch
    check(branch, body.epoch)
    target = Target(workspace_id=branch.workspace_id, agent_id=branch.run.agent_id)
    still_may(actor, Action.RUN_WRITE, target)
    acknowledge(branch=branch)
    if made is not None:
        save(branch=branch, draft=made, actor=actor)
    close(
        branch=branch,
        to=BranchState.FAILED,
        by=actor,
        type_="cancel",
        message=f"The run failed: {body.error}",
        said=body.error,
    )
    end_children(children=children, reason="The run that started it failed.", actor=actor)
    Run.objects.filter(pk=branch.run_id).update(error=body.error)
    record(
        "run.failed",
        workspace_id=branch.workspace_id,
        actor=actor,
        run_id=branch.run_id,
        agent_id=branch.run.agent_id,
        data=RunFailed(branch=branch.name, error=body.error),
    )
    keep_ending(branch, ending(body))
    derive(branch.run_id)
    return branch
