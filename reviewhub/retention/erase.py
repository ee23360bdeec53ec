"""Erases what the runs of one person hold. Ids, hashes and the record's chain stay: that there was something."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Length

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.erase import erase as erase_events
from reviewhub.audit.models import Event
from reviewhub.audit.record import record
from reviewhub.checkpoints.models import Blob, Checkpoint, Hold, Pin, Removal
from reviewhub.checkpoints.remove import Doomed, Load, Why, remove
from reviewhub.core import clock, faults
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict, Invalid, NotFound
from reviewhub.retention.contents import (
    every,
    forget_answers,
    forget_mail_files,
    forget_mails,
    forget_names,
    forget_records,
)
from reviewhub.retention.estimate import unnamed
from reviewhub.retention.kinds import RunErased
from reviewhub.retention.mentions import SEARCHES, Wanted, mentions
from reviewhub.retention.pins import open_things
from reviewhub.retention.prune import locked_run
from reviewhub.retention.reasons import check_reason
from reviewhub.retention.scrub import scrub
from reviewhub.retention.survey import OVER
from reviewhub.runs.models import Run


class StillOpen(Conflict):
    """Something of this is still open or under hold, so nothing was erased."""

    code = "still_open"


@dataclass(frozen=True)
class Erased:
    """How many runs were erased."""

    runs: int


def erase(*, workspace_id: uuid.UUID, on_behalf_of: str, reason: str, actor: Actor) -> Erased:
    """Erases every run that was started on behalf of a person, as the agents named them.

    In transactions of at most RETENTION_BATCH_ROWS rows; killed in the middle, the same call goes on. A run is marked
    as erased with the last of them.

    Args:
        on_behalf_of: exactly as the runs have it.
        reason: kept for ever; it must not repeat what is erased.

    Raises:
        Invalid: no reason or no person is given.
        NotFound: no run of the workspace was started for them.
        StillOpen: one of their runs has not ended, waits for somebody, or is under hold; `extra` has `runs`, each with
            what is in the way. Nothing is erased then, or no more than was until it was opened again.
        NotAnyMore: who acts may not do this any more.
    """
    check_reason(reason)
    if not on_behalf_of.strip():
        raise Invalid.at("/on_behalf_of", "Say whose runs.", "missing")
    runs = list(
        Run.objects.filter(workspace_id=workspace_id, on_behalf_of=on_behalf_of).order_by("created_at", "id")
    )
    if not runs:
        raise NotFound("No run was started on behalf of this person.")
    check_closed(runs)
    for run in runs:
        while _step(run.pk, reason, actor):
            faults.point("erase.after_commit")
    while _mentioned(workspace_id, on_behalf_of, reason, actor):
        faults.point("erase.after_commit")
    return Erased(len(runs))


NOTHING = "Nothing was erased."
SO_FAR = "What was erased until then stays so; the same call goes on."


def check_closed(runs: Sequence[Run], *, done: str = NOTHING) -> None:
    """Raises StillOpen when something stands in the way of erasing one of these runs; `done` says what was till now."""
    held = set(Hold.objects.filter(run__in=runs).values_list("run_id", flat=True))
    found = {}
    for run in runs:
        ways = ["it is under hold"] if run.pk in held else []
        ways += [] if run.state in OVER else [f"it is {run.state}"]
        if ways := ways + open_things(run.pk):
            found[str(run.pk)] = ", ".join(ways)
    if found:
        first, why = next(iter(found.items()))
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise StillOpen(f"Run {first} cannot be erased: {why}{more}. {done}", runs=found)


@transaction.atomic(durable=True)
def _step(run_id: uuid.UUID, reason: str, actor: Actor) -> bool:
    """One transaction; false when nothing is left to do."""
    run = locked_run(run_id)
    still_may(actor, Action.RUN_ERASE, Target(workspace_id=Run.objects.get(pk=run_id).workspace_id))
    # It may have been forked since the last transaction.
    check_closed([Run.objects.get(pk=run_id)], done=SO_FAR)
    if run is None or run.erased_at is not None:
        return False
    why = Why(kind=Removal.Kind.ERASURE, reason=reason, by_name=actor.name)
    if load := _load(run):
        remove(run=run, load=load, why=why)
    elif not _empty(run, why) and not _events(run, reason, actor):
        _finish(run, reason, actor)
    faults.point("erase.before_commit")
    return True


def _load(run: Run) -> Load | None:
    """The next checkpoints, the highest numbers first, or blobs; None when none are left."""
    most = settings.RETENTION_BATCH_ROWS
    rows = Checkpoint.objects.filter(run=run).select_related("branch").defer("content")
    rows = rows.annotate(size=Length("content"))
    if some := list(rows.order_by("-number", "id")[:most]):
        Pin.objects.filter(checkpoint__in=some).delete()
        return Load(checkpoints=[_doomed(row) for row in some])
    blobs = unnamed(run.pk, ())[:most] if Blob.objects.filter(run_id=run.pk).exists() else []
    return Load(blobs=dict(blobs)) if blobs else None


def _doomed(row: Any) -> Doomed:
    return Doomed(
        id=row.pk,
        branch_id=row.branch_id,
        branch=row.branch.name,
        number=row.number,
        state_hash=row.state_hash,
        size=row.size,
    )


def _empty(run: Run, why: Why) -> bool:
    """Empties some texts of one table, or removes some records; whether there were any."""
    most = settings.RETENTION_BATCH_ROWS
    for texts, keys in every(run.pk, most):
        remove(run=run, load=Load(), why=why, meanwhile=partial(texts.blank, run.pk, keys))
        return True
    return bool(forget_records(run, most) or forget_mails(run) or forget_answers(run))


def _events(run: Run, reason: str, actor: Actor) -> bool:
    """Erases what some events about the run say; whether there were any."""
    rows = Event.objects.filter(run_id=run.pk, payload__erased_at__isnull=True).order_by("id")
    some = list(rows.values_list("id", flat=True)[: settings.RETENTION_BATCH_ROWS])
    return bool(some) and bool(
        erase_events(workspace_id=run.workspace_id, event_ids=some, actor=actor, because=reason)
    )


@transaction.atomic(durable=True)
def _mentioned(workspace_id: uuid.UUID, on_behalf_of: str, reason: str, actor: Actor) -> int:
    """Erases what entries say of who looked for the person, or took what is kept about them; how many."""
    still_may(actor, Action.RUN_ERASE, Target(workspace_id=workspace_id))
    rows = Event.objects.filter(workspace_id=workspace_id)
    named = Wanted(whole=frozenset({on_behalf_of}))
    some = mentions(rows, named, most=settings.RETENTION_BATCH_ROWS, kinds=SEARCHES)
    return erase_events(workspace_id=workspace_id, event_ids=some, actor=actor, because=reason)


def _finish(run: Run, reason: str, actor: Actor) -> None:
    removals = list(Removal.objects.filter(run=run).select_related("end").order_by("created_at", "id"))
    digests = "".join(f"{one.end.digest}\n" for one in removals)
    forget_names(run)
    forget_mail_files(run)
    Run.objects.filter(pk=run.pk).update(
        title="",
        on_behalf_of="",
        labels="{}",
        input="null",
        result="null",
        error="",
        external_id="",
        erased_at=clock.now(),
    )
    record(
        "run.erased",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        agent_id=run.agent_id,
        subject_id=run.pk,
        data=RunErased(
            reason=reason,
            checkpoints=sum(one.end.checkpoints for one in removals),
            blobs=sum(one.end.blobs for one in removals),
            events=Event.objects.filter(run_id=run.pk).count(),
            digest="sha256:" + sha256(digests.encode()).hexdigest(),
        ),
    )
    transaction.on_commit(scrub, robust=True)
