"""A call that was answered needs an answer again: the old request stays final, a new one opens.

It happens when a grant expired, declared facts changed, policy became stricter, or nobody knows whether a call
happened.
"""

from __future__ import annotations

from typing import Any

from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.gates.kinds import CallAskedAgain
from reviewhub.resumptions.abandon import abandon
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.request import Asked, request
from reviewhub.runs.derive import derive
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BRANCH_EDGES, OPEN_BRANCH, BranchState
from reviewhub.toolcalls.locks import Locked
from reviewhub.toolcalls.models import Pause
from reviewhub.toolcalls.states import CALL_EDGES, PAUSE_EDGES, CallState, PauseState


def ask_again(*, locked: Locked, asked: Asked, because: str, actor: Actor) -> ReviewRequest:
    """Opens a new request for a locked call, in the caller's transaction.

    An allowed call waits again, an unknown one stays unknown. On an open branch the pause waits (one open call
    more), the branch is paused and its holder fenced; on an ended branch only the request opens: there is nothing
    to wake.
    """
    call, branch = locked.call, locked.branch
    last = ReviewRequest.objects.filter(tool_call=call).order_by("-number").first()
    if call.state != CallState.UNKNOWN:
        move(call, to=CallState.WAITING, table=CALL_EDGES)
    if branch.state in OPEN_BRANCH and locked.pause is not None:
        _reopen(locked.pause)
        _pause_branch(branch)
    record(
        "call.asked_again",
        workspace_id=call.workspace_id,
        actor=actor,
        run_id=call.run_id,
        pause_id=call.pause_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=CallAskedAgain(tool=call.tool_name, digest=call.digest, because=because),
    )
    return request(
        call=call,
        run=call.run,
        agent=call.agent,
        asked=asked if last is None else asked.after(last),
        actor=actor,
        at=now(),
        state_hash=locked.state_hash,
    )


def _reopen(pause: Pause) -> None:
    """One open call more. A settled pause gets a new version: its next settlement is another one."""
    if pause.state == PauseState.SETTLED:
        move(
            pause,
            to=PauseState.WAITING,
            table=PAUSE_EDGES,
            open_calls=1,
            version=pause.version + 1,
            settled_at=None,
            settled_at_once=False,
        )
        return
    Pause.objects.filter(pk=pause.pk).update(open_calls=pause.open_calls + 1)
    pause.open_calls += 1


def _pause_branch(branch: Branch) -> None:
    abandon(branches=[branch.pk])
    fields: dict[str, Any] = {"epoch": branch.epoch + 1, "lease_owner": "", "lease_until": None}
    if branch.state != BranchState.PAUSED:
        move(branch, to=BranchState.PAUSED, table=BRANCH_EDGES, **fields)
        derive(branch.run_id)
