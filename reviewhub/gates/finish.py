"""An agent ends its branch as succeeded."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.checkpoints.draft import Draft, draft
from reviewhub.checkpoints.save import save
from reviewhub.core.actors import Actor
from reviewhub.gates.acts import finish_arguments, require_nobody, spend
from reviewhub.gates.close import close
from reviewhub.gates.ending import check_ending, ending, keep_ending
from reviewhub.gates.errors import Unsettled
from reviewhub.gates.kinds import RunFinished
from reviewhub.gates.set_aside import setting_aside
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.children import going_on
from reviewhub.runs.derive import derive
from reviewhub.runs.fence import check
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import lock_branch
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.states import CallState
from reviewhub.tools.acts import FINISH

OPEN = (CallState.WAITING, CallState.STARTED, CallState.UNKNOWN)


@setting_aside()
def finish(*, branch_id: uuid.UUID, body: wire.FinishBody, actor: Actor) -> Branch:
    """Ends the branch; an allowed call that was never used ends as cancelled. Finishing twice changes nothing.

    Args:
        body: the run's result, and perhaps a last checkpoint, saved in the same commit.

    Raises:
        Unsettled: a call waits, runs or is unknown, or a child run goes on (names them).
        ApprovalNeeded: steps of its plan are open, or policy asks for people anyway: pause for it first.
        NotAllowed, DigestMismatch: `call` is not the consumed approval of this end with this result and these open
            steps.
        EndingConflict: it ended already, with other words.
        Superseded, StaleEpoch, RunEnded, StaleHead: this caller may not write for the branch.
    """
    branch = Branch.objects.get(pk=branch_id)
    made = draft(branch=branch, message=body.checkpoint) if body.checkpoint else None
    with transaction.atomic():
        return _finish(lock_branch(branch_id), body, made, actor)


def _finish(branch: Branch, body: wire.FinishBody, made: Draft | None, actor: Actor) -> Branch:
    if branch.state == BranchState.SUCCEEDED:
        check_ending(branch, ending(body))
        return branch
    check(branch, body.epoch)
    target = Target(workspace_id=branch.workspace_id, agent_id=branch.run.agent_id)
    still_may(actor, Action.RUN_WRITE, target)
    arguments = finish_arguments(branch=branch, result=canonical.reread(canonical.dumps(body.result)))
    if body.call is not None:
        spend(
            branch=branch,
            call_id=body.call,
            name=FINISH,
            fits=lambda said: said == arguments,
            result=None,
            actor=actor,
        )
    open_calls = ToolCall.objects.filter(branch=branch, state__in=OPEN).values_list("pk", "state")
    if open_calls:
        raise Unsettled(calls=[{"id": str(pk), "state": state} for pk, state in open_calls])
    if branch.has_children and (going := going_on(branch)):
        raise Unsettled("Child runs of this branch go on; wait for them.", children=going)
    if body.call is None:
        require_nobody(branch=branch, name=FINISH, arguments=arguments)
    acknowledge(branch=branch)
    if made is not None:
        save(branch=branch, draft=made, actor=actor)
    result = canonical.dumps(body.result)
    close(
        branch=branch,
        to=BranchState.SUCCEEDED,
        by=actor,
        type_="cancel",
        message="The run is over.",
        said=result,
    )
    Run.objects.filter(pk=branch.run_id).update(result=result)
    record(
        "run.finished",
        workspace_id=branch.workspace_id,
        actor=actor,
        run_id=branch.run_id,
        agent_id=branch.run.agent_id,
        data=RunFinished(branch=branch.name),
    )
    keep_ending(branch, ending(body))
    derive(branch.run_id)
    return branch
