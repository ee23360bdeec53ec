"""A run with some checkpoints, rules for it, and time that has passed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection

from reviewhub.audit.testing import unguarded
from reviewhub.checkpoints import change, recall
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.clock import now
from reviewhub.runs.models import Branch, RetentionRule, Run
from tests.cast import Cast
from tests.checkpoints.conftest import new_run, put
from tests.shared import shared

LONG = "many words " * 60


@pytest.fixture(autouse=True)
def _close_manifests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every fourth row stands alone, so that short branches have several that do."""
    monkeypatch.setattr(change, "MANIFEST_ROWS", 4)
    recall.forget_all()
    yield
    recall.forget_all()


@shared
def branch(cast: Cast) -> Branch:
    """The branch main of a run that has just begun."""
    return new_run(cast).branches.get()


def grow(branch: Branch, count: int) -> list[Checkpoint]:
    """So many more checkpoints, each with a text of its own that is a blob and one that all share."""
    made = []
    for _ in range(count):
        branch.refresh_from_db()
        number = Checkpoint.objects.filter(branch=branch).count() + 1
        made.append(put(branch, f'{{"n":{number},"own":"{LONG}{number}","same":"{LONG}"}}'))
    branch.refresh_from_db()
    return made


def rule(run: Run, **limits: int) -> RetentionRule:
    """The one rule of the run's workspace."""
    RetentionRule.objects.filter(workspace_id=run.workspace_id).delete()
    return RetentionRule.objects.create(workspace_id=run.workspace_id, author_name="Alice", **limits)


def age(days: int) -> None:
    """Everything that was saved or ended until now becomes so many days older."""
    moment = now() - timedelta(days=days)
    connection.check_constraints()
    with unguarded():
        Checkpoint.objects.update(created_at=moment)
        connection.check_constraints()
    Run.objects.exclude(ended_at=None).update(ended_at=moment)


def numbers(branch: Branch) -> list[int]:
    """The numbers of the checkpoints that are there."""
    rows = Checkpoint.objects.filter(branch=branch).order_by("number")
    return list(rows.values_list("number", flat=True))
