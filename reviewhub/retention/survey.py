"""What a rule would take from one run. The same for a dry run and a real one; it writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from django.conf import settings
from django.db.models.functions import Length

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.remove import Doomed
from reviewhub.retention.pins import Pins, pins_of
from reviewhub.retention.rules import Limits, Row, effective, going
from reviewhub.runs.models import RetentionRule, Run
from reviewhub.runs.states import RunState

OVER: Final = (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)
"""What does not go on by itself; a quarantined run can be retried."""
_FIELDS: Final = ("id", "branch_id", "branch__name", "number", "base", "state_hash", "created_at", "size")


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The checkpoints of a run that go, in an order in which the rest can be read at every moment."""

    going: list[Doomed]
    staying: int


def survey(run: Run, *, limits: Limits, at: datetime) -> Survey:
    """Looks at every checkpoint of a run, not at the contents.

    Args:
        at: the database's time.
    """
    found = Checkpoint.objects.filter(run_id=run.pk).annotate(size=Length("content"))
    rows = list(found.order_by("branch_id", "number").values(*_FIELDS))
    pins = pins_of(run.pk)
    ended = (at - run.ended_at).total_seconds() if run.ended_at and run.state in OVER else None
    doomed: list[Doomed] = []
    for _, group in groupby(rows, key=lambda row: row["branch_id"]):
        doomed += _of_branch(list(group), pins, limits, ended, at)
    doomed.sort(key=lambda row: -row.number)
    return Survey(going=doomed, staying=len(rows) - len(doomed))


def limits_of(run: Run) -> Limits:
    """The limits that are in force for a run."""
    rules = RetentionRule.objects.filter(workspace_id=run.workspace_id)
    about = [
        (rule.agent_id is not None, bool(rule.run_class), as_limits(rule))
        for rule in rules
        if rule.agent_id in (None, run.agent_id) and rule.run_class in ("", run.retention_class)
    ]
    return effective(about, default=default_limits())


def default_limits() -> Limits:
    """What holds in a workspace that has no rule."""
    return Limits(thin_days=settings.RETENTION_THIN_DAYS or None)


def as_limits(rule: RetentionRule) -> Limits:
    """The limits of a stored rule."""
    return Limits(**{name: getattr(rule, name) for name in Limits.__dataclass_fields__})


def _of_branch(
    rows: list[dict[str, Any]], pins: Pins, limits: Limits, ended: float | None, at: datetime
) -> Iterator[Doomed]:
    by_number = {row["number"]: row for row in rows}
    plain = [
        Row(
            number=row["number"],
            base=row["base"],
            age=(at - row["created_at"]).total_seconds(),
            pinned=row["id"] in pins.pinned,
            needed=row["id"] in pins.needed,
        )
        for row in rows
    ]
    for number in going(plain, limits, ended=ended):
        row = by_number[number]
        yield Doomed(
            id=row["id"],
            branch_id=row["branch_id"],
            branch=row["branch__name"],
            number=number,
            state_hash=row["state_hash"],
            size=row["size"],
        )
