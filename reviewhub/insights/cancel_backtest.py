"""A backtest that nobody needs any more."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import NotFound
from reviewhub.core.transitions import move
from reviewhub.insights.kinds import BacktestCancelled
from reviewhub.insights.models import Backtest
from reviewhub.insights.states import BACKTEST_EDGES, BacktestState


def cancel_backtest(*, workspace_id: uuid.UUID, backtest_id: uuid.UUID, actor: Actor) -> Backtest:
    """Ends a backtest; its worker stops at the end of its batch, and what it counted so far stays.

    Raises:
        NotFound: there is none.
        IllegalTransition: it has ended.
        NotAnyMore: the author may not edit policy any more.
    """
    with transaction.atomic():
        rows = Backtest.objects.select_for_update(no_key=True)
        found = rows.filter(workspace_id=workspace_id, pk=backtest_id).first()
        if found is None:
            raise NotFound("There is no such backtest.")
        still_may(actor, Action.POLICY_EDIT, Target(workspace_id=workspace_id))
        move(found, to=BacktestState.CANCELLED, table=BACKTEST_EDGES, ended_at=now())
        record(
            "backtest.cancelled",
            workspace_id=workspace_id,
            actor=actor,
            subject_id=found.pk,
            data=BacktestCancelled(looked_at=found.looked_at),
        )
    return found
