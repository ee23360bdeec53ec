"""The runs above a run: the one that started it, the one that started that, and so on."""

from __future__ import annotations

from django.db import connection

from reviewhub.runs.models import Run

# One query, however many there are: an agent may say of any run that it was started by another one of its runs.
_ABOVE = """
WITH RECURSIVE above(id, parent_id, height) AS (
    SELECT id, parent_id, 0 FROM runs_run WHERE id = %s
    UNION ALL
    SELECT run.id, run.parent_id, above.height + 1 FROM runs_run run JOIN above ON run.id = above.parent_id
)
SELECT run.id, run.parent_id, run.depth, run.key_id, run.started_by_id, run.on_behalf_of, run.created_at
FROM runs_run run JOIN above ON run.id = above.id ORDER BY above.height
"""


def with_those_above(run: Run) -> list[Run]:
    """The run and those above it, the nearest first, with what says whose they are."""
    if run.parent_id is None:
        return [run]
    key = Run._meta.pk.get_db_prep_value(run.pk, connection)
    return list(Run.objects.raw(_ABOVE, [key]))
