"""Every state that was kept whole becomes a row and blobs, with the same hash.

A state that does not match its hash before stays damaged, with the bytes that are there: nothing is made up for it.
"""

import logging

from django.db import migrations
from reviewhub_agents import canonical

from reviewhub.audit.triggers import drop_triggers
from reviewhub.checkpoints.place import place
from reviewhub.checkpoints.rows import BrokenCheckpoint, unpack_text
from reviewhub.checkpoints.tree import make_state

log = logging.getLogger(__name__)


def carry_over(apps, schema_editor):
    """Rewrites all rows, branch by branch, the oldest first, so that forks find what they share with their origin."""
    alias = schema_editor.connection.alias
    branches = apps.get_model("runs", "Branch").objects.using(alias)
    rows = apps.get_model("checkpoints", "Checkpoint").objects.using(alias)
    if not rows.exists():
        return
    # The rows are guarded against changes; `migrate` makes the guards again at its end.
    drop_triggers(using=alias)
    origins = set(branches.exclude(fork_of=None).values_list("fork_of", flat=True))
    tips = {}
    for branch in branches.order_by("created_at", "id"):
        before, begins = tips.get(branch.fork_of), True
        for pk in list(rows.filter(branch=branch).order_by("number").values_list("pk", flat=True)):
            before = _carry(apps, rows, pk, before, begins)
            begins = before is None
            if pk in origins and before is not None:
                tips[pk] = before


def _carry(apps, rows, pk, before, begins):
    row = rows.get(pk=pk)
    try:
        state = _state(row)
    except BrokenCheckpoint:
        log.warning("checkpoint %s does not match its hash; it is left as it is", pk)
        rows.filter(pk=pk).update(base=row.number, content=row.body)
        return None
    placed = place(state, on=before, begins_branch=begins)
    base = row.number if begins else placed.base
    rows.filter(pk=pk).update(base=base, content=placed.content)
    blobs = apps.get_model("checkpoints", "Blob")
    blobs.objects.using(rows.db).bulk_create(
        [blobs(run_id=row.run_id, hash=hash_, data=data) for hash_, data in placed.blobs.items()],
        ignore_conflicts=True,
    )
    return _at(placed.tip(id_=pk, run_id=row.run_id), row.number, base)


def _at(tip, number, base):
    """The tip with the numbers that the row has, also after a damaged one."""
    return type(tip)(**{**vars(tip), "number": number, "base": base})


def _state(row):
    """The state of a row of the first form: its canonical text, packed. Raises BrokenCheckpoint."""
    text = unpack_text(bytes(row.body))
    try:
        state = make_state(canonical.parse(text, max_bytes=len(text) * 4, max_values=len(text) + 1))
    except Exception as error:
        raise BrokenCheckpoint from error
    if state.state_hash != row.state_hash:
        raise BrokenCheckpoint
    return state


class Migration(migrations.Migration):
    """Data only: a table with changes that wait for their commit cannot be altered on PostgreSQL."""

    dependencies = [("checkpoints", "0002_rows_and_blobs")]

    operations = [migrations.RunPython(carry_over, migrations.RunPython.noop)]
