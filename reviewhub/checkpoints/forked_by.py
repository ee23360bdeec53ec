"""Whose hand is in the state that a branch goes on from."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from uuid import UUID

from django.db.models import Q

from reviewhub.audit.models import Event
from reviewhub.checkpoints.history import origin
from reviewhub.core.sql import Holds
from reviewhub.runs.models import Branch, Child


def forked_by(branch: Branch) -> frozenset[UUID]:
    """The people who forked or rewrote what a branch goes on from, also before the run that started this one.

    By the record, which names who it was for good.
    """
    return _forked(Q(workspace_id=branch.workspace_id, subject_id__in=list(_line(branch))))


class ForkedBy(Holds):
    """`forked_by` for each row of a list: whether this person (`who`) forked or rewrote what `branch` goes on from. The
    walk is that of `_line`: to what a branch was forked from, else to those that started its run."""

    sql = """EXISTS (
WITH RECURSIVE line(id, run_id, fork_of) AS (
    SELECT id, run_id, fork_of FROM runs_branch WHERE id = {branch}
    UNION
    SELECT before.id, before.run_id, before.fork_of FROM line
    LEFT JOIN checkpoints_checkpoint point ON point.id = line.fork_of
    LEFT JOIN checkpoints_tombstone gone ON gone.id = line.fork_of
    LEFT JOIN runs_branch own ON own.run_id = line.run_id AND line.fork_of IS NULL
    LEFT JOIN runs_child child ON child.branch_id = own.id
    JOIN runs_branch before ON before.id = COALESCE(point.branch_id, gone.branch_id, child.parent_branch_id)
)
SELECT 1 FROM line JOIN audit_event event ON event.subject_id = line.id
WHERE event.workspace_id = {workspace} AND event.kind = 'checkpoint.forked' AND event.actor_kind = 'person'
    AND event.actor_id = {who}
)"""


def forked_in(runs: Collection[UUID]) -> frozenset[UUID]:
    """The people who forked or rewrote any branch of these runs."""
    return _forked(Q(run_id__in=runs)) if runs else frozenset()


def _forked(where: Q) -> frozenset[UUID]:
    forked = Event.objects.filter(where, kind="checkpoint.forked", actor_kind="person")
    return frozenset(who for who in forked.values_list("actor_id", flat=True) if who is not None)


def _line(branch: Branch) -> Iterator[UUID]:
    """The branch, what it was forked from, and the branches that started these."""
    seen: set[UUID] = set()
    ahead = [branch]
    while ahead:
        here = ahead.pop()
        if here.pk not in seen:
            seen.add(here.pk)
            yield here.pk
            ahead += [origin(here.fork_of)[0]] if here.fork_of else _parents(here)


def _parents(branch: Branch) -> list[Branch]:
    # By the run: a rewritten child is known to its parent by another branch than it began with.
    rows = Child.objects.filter(branch__run_id=branch.run_id).select_related("parent_branch")
    return [row.parent_branch for row in rows]
