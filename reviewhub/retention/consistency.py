"""Whether what stands around the head of a branch fits together, so that somebody can go on with it. Reads only."""

from __future__ import annotations

from django.db.models import Count, Q

from reviewhub.checkpoints.load import load_state
from reviewhub.checkpoints.queries import head_of
from reviewhub.checkpoints.typed import check
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.models import Pause, ToolCall
from reviewhub.toolcalls.states import CallState, GrantState, PauseState


class Unfit(Exception):
    """What is stored does not fit together."""


def check_branch(branch: Branch) -> None:
    """Loads the head and compares it with its hash and its schema, the open pause with its calls and requests, and the
    calls that may run with their grants.

    Raises:
        Unfit: says what does not fit.
        CorruptCheckpoint: the head is damaged.
    """
    _head(branch)
    pause = Pause.objects.filter(branch=branch, state=PauseState.WAITING).first()
    if pause is not None:
        _pause(branch, pause)
    elif branch.state == BranchState.PAUSED:
        settled = Pause.objects.filter(branch=branch).exists()
        if settled and not branch.resumptions.open().exists():
            raise Unfit("it is paused, and neither waits for people nor is to be woken")
    for call in ToolCall.objects.filter(branch=branch, state=CallState.ALLOWED):
        if not call.grants.filter(state=GrantState.OPEN).exists():
            raise Unfit(f"{call.tool_name} is allowed and has no grant to use")


def _head(branch: Branch) -> None:
    if branch.head is None:
        return
    head = head_of(branch)
    if head is None:
        raise Unfit("its newest checkpoint is gone")
    state = load_state(head)
    if head.state_schema is not None and not head.misfits:
        found = check(state, schema=head.state_schema, before=None)
        if found:
            raise Unfit(f"the state does not fit its schema any more, at {found[0].path}")


def _pause(branch: Branch, pause: Pause) -> None:
    if pause.checkpoint_id is not None and pause.checkpoint_id != branch.head:
        raise Unfit("it waits at a checkpoint that is not its newest one")
    pending = Count("requests", filter=Q(requests__state=RequestState.PENDING))
    calls = list(ToolCall.objects.filter(pause=pause).annotate(pending=pending))
    asked = sum(call.pending for call in calls)
    if asked != pause.open_calls:
        raise Unfit(f"its pause counts {pause.open_calls} open calls, and people are asked about {asked}")
