"""Writes the outbox row that wakes a branch."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.nudge import nudge_after_commit
from reviewhub.resumptions.states import OPEN, RESUMPTION_EDGES
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BRANCH_EDGES, BranchState
from reviewhub.toolcalls.models import Pause

KINDS = frozenset({"poll", "hosted"})


def enqueue(
    *,
    branch: Branch,
    pause: Pause | None,
    kind: str,
    due_at: datetime | None = None,
    for_children: bool = False,
) -> Resumption:
    """Makes the waking of `branch` due, in the caller's transaction, which holds the branch's lock.

    A paused branch becomes `resuming`. One settlement (a pause at one version) is enqueued once: a second
    call finds the row of the first. An older waking that is still open is abandoned: this one says more.

    Args:
        branch: locked and as it is stored.
        pause: the pause that settled; None starts a hosted run, or picks up one that nobody holds.
        kind: `hosted` is nudged to a worker after commit, `poll` waits for the agent's next write.
        due_at: not before this time; now when left out.
        for_children: it becomes due when the last child run that the branch waits for has ended.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a waking is written in the transaction of what made it due")
    if kind not in KINDS:
        raise ValueError(f"unknown kind of waking {kind!r}")
    version = Pause.objects.values_list("version", flat=True).get(pk=pause.pk) if pause else 0
    found = _found(branch, pause, version)
    if found and pause is not None and (found[0].pause_id, found[0].pause_version) == (pause.pk, version):
        return found[0]
    for older in found:
        move(older, to="abandoned", table=RESUMPTION_EDGES, ended_at=now(), lease_until=None)
    row = Resumption.objects.create(
        workspace_id=branch.workspace_id,
        branch=branch,
        pause=pause,
        pause_version=version,
        kind=kind,
        due_at=due_at or now(),
        for_children=for_children,
    )
    if branch.state == BranchState.PAUSED:
        move(branch, to=BranchState.RESUMING, table=BRANCH_EDGES)
    if kind == "hosted" and due_at is None:
        nudge_after_commit(row)
    return row


def _found(branch: Branch, pause: Pause | None, version: int) -> list[Resumption]:
    """The row of this settlement, first if there is one, and those of the branch that are open; in one read."""
    open_ = Q(branch=branch, state__in=OPEN)
    if pause is None:
        return list(Resumption.objects.filter(open_))
    rows = Resumption.objects.filter(Q(pause=pause, pause_version=version) | open_)
    return sorted(rows, key=lambda row: (row.pause_id, row.pause_version) != (pause.pk, version))
