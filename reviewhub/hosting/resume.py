"""A worker wakes a branch and runs it on, from exactly the checkpoint at which it stopped."""

from __future__ import annotations

import logging
import random
import traceback
import uuid

from django.conf import settings
from django.db import transaction
from reviewhub_agents import runtime
from reviewhub_agents.runtime.errors import Fenced, GraphError, ReplayDiverged, StateError, TryLater

from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.core import faults
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.hosting.drain import this_worker
from reviewhub.hosting.goodput.meter import Meter, MeteredStore
from reviewhub.hosting.goodput.shifts import begin, on_shift
from reviewhub.hosting.graphs import graph_of
from reviewhub.hosting.heart import beating
from reviewhub.hosting.models import Record
from reviewhub.hosting.outlast import drop_if_broken
from reviewhub.hosting.rules import pause_before_next
from reviewhub.hosting.stop_trying import stop_trying
from reviewhub.resumptions.claim import Claimed, claim
from reviewhub.resumptions.complete import complete
from reviewhub.resumptions.failed import failures_at
from reviewhub.resumptions.put_back import give_back, put_back
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.models import ToolCall

logger = logging.getLogger(__name__)

# It would go the same way every time: no second attempt before a person has looked.
HOPELESS = (GraphError, StateError, ReplayDiverged, Invalid)
TWIN_PAUSE = 15.0
MAX_ERROR = 4000


def resume(*, resumption_id: uuid.UUID, owner: str) -> bool:
    """Claims a waking and runs its branch on until it waits for people or ends, is halted, or this worker stops.

    Whatever happens to this process, the lease runs out and the sweep gives the waking to another one. An error of
    the agent is tried again from the last checkpoint, with growing pauses; after RESUME_ATTEMPTS failures without any
    progress the branch is quarantined.

    Args:
        owner: this worker's name, for people.

    Returns:
        False when there was nothing to do: somebody else has it, or it is over.
    """
    if this_worker.is_on:
        return False
    with transaction.atomic():
        claimed = claim(resumption_id=resumption_id, owner=owner, seconds=settings.LEASE_SECONDS)
        died = _died(claimed)
        # In the commit of the claim: a death right after it is seen.
        meter = begin(claimed) if claimed is not None and died < settings.RESUME_ATTEMPTS else None
    if claimed is None:
        return False
    faults.point("resume.after_claim")
    try:
        if meter is None:
            why = "The workers that ran it died again and again."
            stop_trying(claimed=claimed, place="", error=why, failures=died)
        else:
            holding = this_worker.holding(claimed)
            with on_shift(meter), beating(claimed, meter.write), holding:
                _run(claimed, meter)
    except (Fenced, Conflict) as fenced:
        logger.info("branch %s is not this worker's any more: %s", claimed.branch.pk, fenced)
    return True


def _died(claimed: Claimed | None) -> int:
    """How often workers died of it where it stands; the first attempt has none before it."""
    if claimed is None or claimed.resumption.attempts == 1:
        return 0
    return failures_at(resumption=claimed.resumption, place=str(claimed.branch.head or ""))


def _run(claimed: Claimed, meter: Meter) -> None:
    run = claimed.branch.run
    try:
        with meter.watching():
            ending = runtime.run(graph_of(run.agent.graph).named(run.graph), MeteredStore(claimed, meter))
    except (Fenced, Conflict):
        raise
    except CorruptCheckpoint:
        logger.warning("branch %s was set aside: what it stands on is damaged", claimed.branch.pk)
    except HOPELESS as error:
        logger.warning("branch %s cannot go on", claimed.branch.pk, exc_info=True)
        stop_trying(claimed=claimed, place="", error=_said(error), failures=1)
    except Exception as error:
        logger.warning("branch %s failed", claimed.branch.pk, exc_info=True)
        drop_if_broken()
        _again_or_not(claimed, error)
    else:
        if ending == "paused":
            _let_go(claimed)


def _again_or_not(claimed: Claimed, error: Exception) -> None:
    place = _place(claimed)
    failures = failures_at(resumption=claimed.resumption, place=place) + 1
    if failures >= settings.RESUME_ATTEMPTS:
        stop_trying(claimed=claimed, place=place, error=_said(error), failures=failures)
        return
    asked = error.after if isinstance(error, TryLater) else None
    # Chance and no secret: it only spreads the attempts.
    seconds = pause_before_next(failures=failures, draw=random.random(), asked=asked)  # noqa: S311
    put_back(
        resumption=claimed.resumption, branch=claimed.branch, place=place, error=_said(error), seconds=seconds
    )


def _place(claimed: Claimed) -> str:
    """How far the branch has come: its head, and how much is recorded of what came after it."""
    head = Branch.objects.values_list("head", flat=True).get(pk=claimed.branch.pk)
    records = Record.objects.filter(branch=claimed.branch).count()
    calls = ToolCall.objects.filter(branch=claimed.branch).count()
    return f"{head or ''}/{records}/{calls}"


def _let_go(claimed: Claimed) -> None:
    """The branch waits for people: this waking is done (or abandoned, when people were that quick).

    Where the branch does not wait it is given back: it is halted, this worker stops, or an equal call is under way.
    """
    faults.point("resume.before_settle")
    branch = Branch.objects.get(pk=claimed.branch.pk)
    if branch.epoch == claimed.branch.epoch and branch.state == BranchState.RUNNING:
        at_once = branch.is_halted or this_worker.is_on
        give_back(resumption=claimed.resumption, branch=branch, seconds=0 if at_once else TWIN_PAUSE)
        return
    with transaction.atomic():
        complete(resumption=claimed.resumption)


def _said(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()[:MAX_ERROR]
