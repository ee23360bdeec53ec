"""Finds branches that nothing would ever wake. None should exist; one that does is woken, and said so in the log."""

from __future__ import annotations

import logging
import uuid

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import DbNow
from reviewhub.core.sweeps import each
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch
from reviewhub.runs.queries import locked_branch
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.models import Pause
from reviewhub.toolcalls.states import PauseState

logger = logging.getLogger(__name__)
BATCH = 200


def rescue() -> int:
    """Wakes paused branches whose pause has settled, and hosted ones that run with nobody; how many there were."""
    settled = each(_wake_settled, list(_settled().values_list("pk", flat=True)[:BATCH]))
    return settled + each(_wake_alone, list(_alone().values_list("pk", flat=True)[:BATCH]))


def _settled() -> QuerySet[Branch]:
    waiting = Pause.objects.filter(branch=OuterRef("pk"), state=PauseState.WAITING)
    return Branch.objects.filter(~Exists(waiting), state=BranchState.PAUSED)


def _alone() -> QuerySet[Branch]:
    """Hosted branches that run, have no holder and no waking. An agent that polls may be silent as long as it likes."""
    woken = Resumption.objects.open().filter(branch=OuterRef("pk"))
    return Branch.objects.filter(
        ~Exists(woken),
        Q(lease_until__isnull=True) | Q(lease_until__lte=DbNow()),
        state__in=[BranchState.RUNNING, BranchState.RESUMING],
        is_halted=False,
        run__agent__runner=Agent.Runner.HOSTED,
    )


@transaction.atomic
def _wake_settled(branch_id: uuid.UUID) -> bool:
    branch = locked_branch(branch_id)
    pause = Pause.objects.filter(branch=branch).order_by("-settled_at", "-created_at", "-id").first()
    if pause is None or not _settled().filter(pk=branch_id).exists():
        return False
    logger.error("branch %s: its pause settled without a waking", branch_id)
    enqueue(branch=branch, pause=pause, kind=pause.resume_kind)
    return True


@transaction.atomic
def _wake_alone(branch_id: uuid.UUID) -> bool:
    branch = locked_branch(branch_id)
    if not _alone().filter(pk=branch_id).exists():
        return False
    logger.error("branch %s: hosted, running, and nobody runs it", branch_id)
    enqueue(branch=branch, pause=None, kind="hosted")
    return True
