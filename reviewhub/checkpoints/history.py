"""The way a branch came: its checkpoints from the newest to the run's first, across forks."""

from __future__ import annotations

import uuid

from reviewhub.checkpoints.models import Checkpoint, Tombstone
from reviewhub.checkpoints.statements import read_list
from reviewhub.core import keyset
from reviewhub.core.keyset import Page
from reviewhub.runs.models import Branch


def history(*, branch: Branch, cursor: str = "", limit: int = 50) -> Page[Checkpoint]:
    """A page of a branch's ancestors, the newest first, without their states.

    After the first checkpoint of a fork come the checkpoint that it forked from and that one's ancestors; what the
    older branch saved after the fork is no ancestor and is left out. Removed ones are left out, too: their numbers are
    missing, and `queries.removed_of` says why. Cost: one range read for each branch on the page.

    Args:
        cursor: the `next` of the page before.

    Raises:
        Invalid: the cursor is none of this run's.
    """
    here, below = (branch, None) if not cursor else _read(cursor, branch)
    found: list[Checkpoint] = []
    wanted = keyset.within(limit) + 1
    while True:
        found += read_list(here, below=below, most=wanted - len(found))
        if len(found) == wanted or here.fork_of is None:
            break
        here, below = origin(here.fork_of)
    return keyset.cut(found, limit=limit, key=lambda row: [str(row.branch_id), row.number])


def origin(checkpoint_id: uuid.UUID) -> tuple[Branch, int]:
    """The branch that was forked, and the number below which its ancestors are; the checkpoint itself may be gone."""
    for kind in (Checkpoint, Tombstone):
        row = kind.objects.select_related("branch").filter(pk=checkpoint_id)
        if found := row.values_list("branch_id", "number").first():
            return Branch.objects.get(pk=found[0]), found[1] + 1
    raise Checkpoint.DoesNotExist(f"a branch was forked from {checkpoint_id}, which never was")


def _read(cursor: str, branch: Branch) -> tuple[Branch, int]:
    """The branch and number to go on below. Only branches of the same run: a cursor opens no other run."""
    given, number = keyset.read(cursor, length=2)
    try:
        branch_id = uuid.UUID(given)
    except (ValueError, TypeError, AttributeError) as error:
        raise keyset.bad_cursor() from error
    here = Branch.objects.filter(pk=branch_id, run_id=branch.run_id).first()
    if here is None or not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**31:
        raise keyset.bad_cursor()
    return here, number
