"""Row locks in the one order that every writer keeps: branch, pause, tool call, run, request, grant, resumption.

Whoever acts is locked, shared, by `accounts.acting.still_may`: after branch, pause, tool call and request, before run.

`FOR NO KEY UPDATE` on PostgreSQL; on SQLite the IMMEDIATE transaction already holds the whole file.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from django.db.models import Model, QuerySet

from reviewhub.checkpoints.queries import hash_of
from reviewhub.core.errors import NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.runs.models import Branch, Child, Run
from reviewhub.runs.states import OPEN_BRANCH, BranchState
from reviewhub.toolcalls.ahead import Ahead
from reviewhub.toolcalls.models import Pause, ToolCall

M = TypeVar("M", bound=Model)


@dataclass
class Locked:
    """A tool call with what stands above it, all locked; an observed call has no pause."""

    branch: Branch
    pause: Pause | None
    call: ToolCall
    ahead: Ahead | None = field(default=None, kw_only=True)

    @cached_property
    def state_hash(self) -> str:
        """Of the state that the call was proposed with; empty when it brought none."""
        return hash_of(self.call.checkpoint_id) or ""


def lock(rows: QuerySet[M]) -> QuerySet[M]:
    """The query with row locks."""
    return rows.select_for_update(no_key=True)


def lock_branch(branch_id: uuid.UUID) -> Branch:
    """The branch as it is now, locked."""
    return lock(Branch.objects.filter(pk=branch_id)).get()


def lock_children(branches: Iterable[Branch]) -> list[Branch]:
    """The child branches of locked branches that are not over, and theirs, locked: those above before those below.

    To be called before anything else of the branches is locked. Nobody who holds a child waits for a branch above it.
    """
    found: dict[uuid.UUID, Branch] = {branch.pk: branch for branch in branches if branch.has_children}
    above, level = set(found), set(found)
    while level:
        going = Child.objects.filter(parent_branch__in=level, outcome="").values("branch")
        rows = Branch.objects.filter(pk__in=going, state__in=(*OPEN_BRANCH, BranchState.QUARANTINED))
        # Asked again until nothing is new: a child that was rewritten meanwhile goes on as another branch.
        new = {row.pk: row for row in lock(rows.exclude(pk__in=found).order_by("pk"))}
        found |= new
        level = level | set(new) if new else set()
    return [branch for pk, branch in found.items() if pk not in above]


def lock_run(run_id: uuid.UUID) -> Run:
    """The run, locked: what its branches do to equal calls happens one after the other. Branches are locked before."""
    return lock(Run.objects.filter(pk=run_id)).get()


def lock_pause(pause_id: uuid.UUID) -> Pause:
    """The pause as it is now, locked; its branch must be locked before."""
    return lock(Pause.objects.filter(pk=pause_id)).get()


def lock_call(call_id: uuid.UUID) -> Locked:
    """A call, its pause and its branch as they are now, locked in order.

    Raises:
        NotFound: there is no such call.
    """
    ids = one_or_none(ToolCall.objects.filter(pk=call_id).values_list("branch_id", "pause_id", "pk"))
    if ids is None:
        raise NotFound
    return lock_below(*ids)


def lock_below(branch_id: uuid.UUID, pause_id: uuid.UUID | None, call_id: uuid.UUID) -> Locked:
    """A branch, a pause of it (if the call has one) and a call of both as they are now, locked in order; the call
    knows the other two."""
    branch = lock_branch(branch_id)
    pause = lock_pause(pause_id) if pause_id else None
    call = lock(ToolCall.objects.filter(pk=call_id)).get()
    call.branch, call.pause = branch, pause
    return Locked(branch=branch, pause=pause, call=call)
