"""A checkpoint pins where the child runs of its branch are, so that a fork of it forks them."""

from __future__ import annotations

import uuid

from reviewhub.checkpoints.models import ChildHead
from reviewhub.runs.models import Branch, Child


def pin_children(*, branch: Branch, checkpoint_id: uuid.UUID) -> None:
    """Writes down the heads of those that have not ended, in the transaction that writes the checkpoint.

    Whoever holds the branch's lock starts its children, so none is missing; each head is one that was committed.
    """
    if not branch.has_children:
        return
    going = Child.objects.filter(parent_branch=branch, outcome="").values_list("pk", "branch__head")
    ChildHead.objects.bulk_create(
        ChildHead(checkpoint_id=checkpoint_id, child_id=child, head_id=head) for child, head in going
    )
