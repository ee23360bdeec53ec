"""The runs above a run: the one that started it, the one that started that, and so on."""

from __future__ import annotations

from django.db import connection

from reviewhub.runs.models import Run

# One query, however many there are: an agent may say of any run that it was started by another one of its runs. Of a
# run above, `is_said`: the first below it that it did not start itself says so, and not on which of its branches.
ABOVE = """
WITH RECURSIVE above(
    id, parent_id, depth, key_id, started_by_id, agent_owned_by_id, on_behalf_of, created_at, height, is_said
) AS (
    SELECT id, parent_id, depth, key_id, started_by_id, agent_owned_by_id, on_behalf_of, created_at, 0, 0
    FROM runs_run WHERE id = {run}
    UNION ALL
    SELECT run.id, run.parent_id, run.depth, run.key_id, run.started_by_id, run.agent_owned_by_id, run.on_behalf_of,
        run.created_at, above.height + 1, CASE WHEN above.is_said = 1 OR above.depth = 0 THEN 1 ELSE 0 END
    FROM runs_run run JOIN above ON run.id = above.parent_id
)"""
"""A run, `{run}`, and those above it, with what says whose they are."""
_ALL = "ABOVE SELECT * FROM above ORDER BY height".replace("ABOVE", ABOVE.replace("{run}", "%s"))


def with_those_above(run: Run) -> list[Run]:
    """The run and those above it, the nearest first, with what says whose they are."""
    if run.parent_id is None:
        return [run]
    key = Run._meta.pk.get_db_prep_value(run.pk, connection)
    return list(Run.objects.raw(_ALL, [key]))
