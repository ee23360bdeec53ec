"""Every state that was kept whole becomes a row and blobs, with the same hash.

A state that does not match its hash before stays damaged, with the bytes that are there: nothing is made up for it.
"""

import logging

from django.db import migrations

from reviewhub.audit.triggers import drop_triggers
from reviewhub.checkpoints.migrations import _carried_over

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
        fields = _carried_over.read(bytes(row.body), row.state_hash)
    except _carried_over.Damaged:
        log.warning("checkpoint %s does not match its hash; it is left as it is", pk)
        rows.filter(pk=pk).update(base=row.number, content=row.body)
        return None
    on = before or _carried_over.Tip()
    base, content, packed, tip = _carried_over.row(fields, on=on, number=row.number, begins=begins)
    rows.filter(pk=pk).update(base=base, content=content)
    blobs = apps.get_model("checkpoints", "Blob")
    blobs.objects.using(rows.db).bulk_create(
        [blobs(run_id=row.run_id, hash=hash_, data=data) for hash_, data in packed.items()],
        ignore_conflicts=True,
    )
    return tip


class Migration(migrations.Migration):
    """Data only: a table with changes that wait for their commit cannot be altered on PostgreSQL."""

    dependencies = [("checkpoints", "0002_rows_and_blobs")]

    operations = [migrations.RunPython(carry_over, migrations.RunPython.noop)]
