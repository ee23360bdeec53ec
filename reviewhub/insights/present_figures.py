"""The insights as the API shows them: the figures of the page, from the same tables."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import wire

from reviewhub.insights.afterwards import still_open
from reviewhub.insights.figures import Asked, Outcomes
from reviewhub.insights.found import FILED, TABLES, Found
from reviewhub.insights.models import RolledDay
from reviewhub.insights.queue_now import queue_now
from reviewhub.insights.tables import OUTCOME, Table, outcome_row

NO_RULE = "-"
"""In an address: requests that no rule asked for."""


def insights_out(found: Found) -> wire.InsightsOut:
    """Everything that the page can show of these days."""
    asked, later, troubles = found.asked, still_open(found.asked), found.troubles(FILED)
    queue = queue_now(asked.workspace_id, found.at)
    rolled = RolledDay.objects.order_by("-day").first()
    return wire.InsightsOut(
        since=asked.first.isoformat(),
        until=asked.last.isoformat(),
        narrowed_to=_narrowed_to(asked),
        total=_outcome(found.figures.total),
        before=_outcome(found.figures.before),
        waiting=queue.waiting,
        overdue=queue.overdue,
        open_looks=later.looks,
        open_follow_ups=later.follow_ups,
        unapproved=troubles.unapproved.many,
        unused=troubles.unused.many,
        unknown=troubles.unknown_many,
        tables={name: _table(make(found)) for name, make in TABLES.items()},
        **({"counted_until": rolled.at} if rolled else {}),
    )


def _narrowed_to(asked: Asked) -> wire.NarrowedTo:
    given: dict[str, Any] = {"agent": asked.agent, "tool": asked.tool, "team": asked.team}
    given["rule"] = NO_RULE if asked.rule == "" else asked.rule
    return wire.NarrowedTo(**{name: value for name, value in given.items() if value})


def _outcome(one: Outcomes) -> dict[str, object]:
    return {column.name: cell.value for column, cell in zip(OUTCOME, outcome_row(one), strict=True)}


def _table(table: Table) -> wire.InsightTableOut:
    names = [column.name for column in table.columns]
    return wire.InsightTableOut(
        title=table.title,
        columns=names,
        rows=[dict(zip(names, (cell.value for cell in row), strict=True)) for row in table.rows],
    )
