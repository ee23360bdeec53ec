"""A hosted-style agent remembers a result."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical

from reviewhub.core.errors import Invalid
from reviewhub.hosting.models import Record
from reviewhub.hosting.spend import spend
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.fence import check
from reviewhub.runs.queries import locked_branch

MAX_KEY = 255


@transaction.atomic
def keep_record(*, branch_id: uuid.UUID, key: str, value: str, epoch: int | None) -> tuple[Record, bool]:
    """Keeps `value` under `key` in a branch, unless something is kept there already: the first one stays, and is paid.

    Args:
        value: canonical JSON text.
        epoch: the claimer's; None for an agent that polls.

    Returns:
        What is kept now, and whether it was there before.

    Raises:
        Invalid: the key is empty or too long, or has characters that nobody sees.
        Superseded, StaleEpoch, RunEnded: this caller may not write for the branch.
    """
    if not 0 < len(key) <= MAX_KEY:
        raise Invalid.at("/key", f"1 to {MAX_KEY} characters; {len(key)} given")
    if not key.isprintable():
        raise Invalid.at("/key", "characters that can be seen, and plain spaces")
    branch = locked_branch(branch_id)
    check(branch, epoch)
    acknowledge(branch=branch)
    row, created = Record.objects.get_or_create(
        branch=branch,
        key=key,
        defaults={
            "workspace_id": branch.workspace_id,
            "value": value,
            "digest": canonical.body_digest(canonical.reread(value)),
        },
    )
    if created:
        spend(branch=branch, row=row)
    return row, not created
