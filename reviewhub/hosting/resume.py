"""A worker wakes a branch and runs it on, from exactly the checkpoint at which it stopped."""

from __future__ import annotations

import logging
import traceback
import uuid

from django.conf import settings
from django.db import transaction
from reviewhub_agents import runtime
from reviewhub_agents.runtime.errors import Fenced, GraphError, ReplayDiverged, StateError

from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.core import faults
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.hosting.graphs import graph_of
from reviewhub.hosting.heart import beating
from reviewhub.hosting.stop_trying import stop_trying
from reviewhub.hosting.store import BranchStore
from reviewhub.resumptions.claim import Claimed, claim
from reviewhub.resumptions.complete import complete
from reviewhub.resumptions.put_back import put_back
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BranchState

logger = logging.getLogger(__name__)

# It would go the same way every time: no second attempt before a person has looked.
HOPELESS = (GraphError, StateError, ReplayDiverged, Invalid)
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0
TWIN_PAUSE = 15.0
MAX_ERROR = 4000


def resume(*, resumption_id: uuid.UUID, owner: str) -> bool:
    """Claims a waking and runs its branch on until it waits for people or ends.

    Whatever happens to this process, the lease runs out and the sweep gives the waking to another one. An error of
    the agent is tried again with growing pauses, and after RESUME_ATTEMPTS attempts the branch is quarantined.

    Args:
        owner: this worker's name, for people.

    Returns:
        False when there was nothing to do: somebody else has it, or it is over.
    """
    claimed = claim(resumption_id=resumption_id, owner=owner, seconds=settings.LEASE_SECONDS)
    if claimed is None:
        return False
    faults.point("resume.after_claim")
    try:
        if claimed.resumption.attempts > settings.RESUME_ATTEMPTS:
            stop_trying(claimed=claimed, error="The workers that ran it died again and again.")
        else:
            with beating(claimed):
                _run(claimed)
    except (Fenced, Conflict) as fenced:
        logger.info("branch %s is not this worker's any more: %s", claimed.branch.pk, fenced)
    return True


def _run(claimed: Claimed) -> None:
    run = Run.objects.select_related("agent").get(pk=claimed.branch.run_id)
    try:
        ending = runtime.run(graph_of(run.agent.graph), BranchStore(claimed))
    except (Fenced, Conflict):
        raise
    except CorruptCheckpoint:
        logger.warning("branch %s was set aside: what it stands on is damaged", claimed.branch.pk)
    except HOPELESS as error:
        logger.warning("branch %s cannot go on", claimed.branch.pk, exc_info=True)
        stop_trying(claimed=claimed, error=_said(error))
    except Exception as error:
        logger.warning("branch %s failed", claimed.branch.pk, exc_info=True)
        _again_or_not(claimed, _said(error))
    else:
        if ending == "paused":
            _let_go(claimed)


def _again_or_not(claimed: Claimed, error: str) -> None:
    attempts = claimed.resumption.attempts
    if attempts >= settings.RESUME_ATTEMPTS:
        stop_trying(claimed=claimed, error=error)
        return
    pause = min(FIRST_PAUSE * 2 ** (attempts - 1), LONGEST_PAUSE)
    put_back(resumption=claimed.resumption, branch=claimed.branch, error=error, seconds=pause)


def _let_go(claimed: Claimed) -> None:
    """The branch waits for people: this waking is done (or abandoned, when people were that quick)."""
    faults.point("resume.before_settle")
    branch = Branch.objects.get(pk=claimed.branch.pk)
    if branch.epoch == claimed.branch.epoch and branch.state == BranchState.RUNNING:
        why = "An equal call is under way on another branch; waiting for its end."
        put_back(resumption=claimed.resumption, branch=branch, error=why, seconds=TWIN_PAUSE)
        return
    with transaction.atomic():
        complete(resumption=claimed.resumption)


def _said(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()[:MAX_ERROR]
