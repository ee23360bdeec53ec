"""Removes from one run what its rule takes, in short transactions: killed between any two, it goes on where it was.

What is to go is found anew under the locks of all branches in each transaction. Whoever adds a checkpoint, a pause or a
branch to the run holds one of these locks, so of a fork and a removal of what it stands on exactly one happens.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.db import transaction

from reviewhub.audit.record import record
from reviewhub.checkpoints.models import Hold, Removal
from reviewhub.checkpoints.named import Named, named, named_since
from reviewhub.checkpoints.remove import Load, Why, remove
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.core import clock, faults
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.models import Record
from reviewhub.retention.estimate import Estimate, unnamed
from reviewhub.retention.kinds import RunPruned
from reviewhub.retention.models import Progress
from reviewhub.retention.rules import Limits
from reviewhub.retention.survey import limits_of, survey
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.locks import lock, lock_run

log = logging.getLogger(__name__)
MOST_REST = 1.0


def prune(*, run_id: uuid.UUID) -> Estimate:
    """Removes checkpoints that no limit keeps, then blobs that no checkpoint names any more; how much went.

    Never more than RETENTION_BATCH_ROWS rows in one transaction, and between two it rests as long as the last one took,
    so that other writers get their turn. A run under hold is left alone.
    """
    done = _until_nothing(lambda: _checkpoints(run_id))
    if Progress.objects.filter(pk=run_id, blobs_due=True).exists():
        done += _blobs(run_id)
    seen = {"seen_at": clock.now(), "failing_since": None, "failed_at": None, "problem": ""}
    Progress.objects.update_or_create(run_id=run_id, defaults=seen)
    return done


def locked_run(run_id: uuid.UUID) -> Run | None:
    """The run with all its branches locked, so that nothing is added to it; None when it is under hold."""
    held: set[uuid.UUID] = set()
    while True:
        # A branch that was forked while this waited for another's lock; nobody forks one that is locked.
        rows = Branch.objects.filter(run_id=run_id).exclude(pk__in=held).order_by("pk")
        more = {branch.pk for branch in lock(rows)}
        if not more:
            break
        held |= more
    run = lock_run(run_id)
    return None if Hold.objects.filter(run_id=run_id).exists() else run


def _until_nothing(act: Callable[[], Load | None]) -> Estimate:
    done = Estimate()
    while True:
        began = time.monotonic()
        load = act()
        if load is None:
            return done
        faults.point("prune.after_commit")
        done += Estimate.of(load)
        time.sleep(min(time.monotonic() - began, MOST_REST))


@transaction.atomic(durable=True)
def _checkpoints(run_id: uuid.UUID) -> Load | None:
    run = locked_run(run_id)
    if run is None:
        return None
    limits = limits_of(run)
    found = survey(run, limits=limits, at=clock.now())
    load = Load(checkpoints=found.going[: settings.RETENTION_BATCH_ROWS])
    if not load.checkpoints:
        return None
    _remove(run, load, limits)
    Progress.objects.update_or_create(run=run, defaults={"blobs_due": True})
    if found.staying == 0:
        # What the steps of a hosted run said is of no use without its states.
        Record.objects.filter(branch__run=run).delete()
    faults.point("prune.before_commit")
    return load


def _blobs(run_id: uuid.UUID) -> Estimate:
    try:
        seen = named(run_id)
        return _until_nothing(lambda: _some_blobs(run_id, seen))
    except BrokenCheckpoint:
        # Nobody knows what a damaged row names, so every blob of its run stays.
        log.error("run %s: a checkpoint is damaged, so its blobs are not looked through", run_id)
        return Estimate()


@transaction.atomic(durable=True)
def _some_blobs(run_id: uuid.UUID, seen: Named) -> Load | None:
    run = locked_run(run_id)
    if run is None:
        return None
    names = seen.hashes | named_since(run_id, seen).hashes
    load = Load(blobs=dict(unnamed(run_id, names)[: settings.RETENTION_BATCH_ROWS]))
    if not load.blobs:
        Progress.objects.filter(run=run).update(blobs_due=False)
        return None
    _remove(run, load, limits_of(run))
    faults.point("prune.before_commit")
    return load


def _remove(run: Run, load: Load, limits: Limits) -> None:
    rule = limits.text
    why = Why(kind=Removal.Kind.RETENTION, reason=limits.words, by_name=SYSTEM.name, rule=rule)
    removal = remove(run=run, load=load, why=why)
    record(
        "run.pruned",
        workspace_id=run.workspace_id,
        actor=SYSTEM,
        run_id=run.pk,
        agent_id=run.agent_id,
        subject_id=run.pk,
        data=RunPruned(
            title=str(run),
            rule=rule,
            removal=str(removal.pk),
            checkpoints=removal.end.checkpoints,
            blobs=removal.end.blobs,
            bytes=removal.end.bytes,
            digest=removal.end.digest,
        ),
    )
