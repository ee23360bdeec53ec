"""Prunes one run, and keeps for the admins why that did not go; it keeps no other run from its turn."""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import SYSTEM
from reviewhub.retention.estimate import Estimate
from reviewhub.retention.kinds import RunPruneFailed
from reviewhub.retention.models import Progress
from reviewhub.retention.prune import prune
from reviewhub.runs.models import Run

log = logging.getLogger(__name__)
MOST_WORDS = 500


def attempt(run: Run) -> Estimate | None:
    """What `prune` took away; None when it failed. Then its turn comes again, and what was removed before stays so.

    A failure is put on record once, until a look at the run succeeds or fails in another way.
    """
    try:
        return prune(run_id=run.pk)
    except Exception as error:
        log.exception("run %s could not be pruned", run.pk)
        _note(run, f"{type(error).__name__}: {error}"[:MOST_WORDS])
        return None


@transaction.atomic
def _note(run: Run, problem: str) -> None:
    known = Progress.objects.filter(run=run, failing_since__isnull=False, problem=problem).exists()
    at = clock.now()
    Progress.objects.get_or_create(run=run)
    since = Coalesce(F("failing_since"), at)
    Progress.objects.filter(run=run).update(seen_at=at, failed_at=at, failing_since=since, problem=problem)
    if not known:
        record(
            "run.prune_failed",
            workspace_id=run.workspace_id,
            actor=SYSTEM,
            run_id=run.pk,
            agent_id=run.agent_id,
            subject_id=run.pk,
            data=RunPruneFailed(title=str(run), problem=problem),
        )
