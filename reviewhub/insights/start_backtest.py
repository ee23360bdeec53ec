"""An admin asks what a draft would have done with what was recorded."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db import IntegrityError, transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.insights.kinds import BacktestStarted
from reviewhub.insights.models import Backtest
from reviewhub.insights.nudge import nudge_after_commit
from reviewhub.insights.rules import Tally
from reviewhub.policies.drafts import locked_draft
from reviewhub.policies.queries import current_number
from reviewhub.toolcalls.models import ToolCall

MOST_DAYS = 366


class AlreadyRunning(Conflict):
    """A backtest is running. Wait for it, or cancel it."""

    code = "already_running"


def start_backtest(*, workspace_id: uuid.UUID, draft_id: uuid.UUID, days: int, actor: Actor) -> Backtest:
    """Queues a backtest of the open draft against the calls of the last `days` days; a worker does it.

    Raises:
        Invalid: so many days cannot be asked for.
        DraftChanged: it is no longer the draft that is worked on.
        AlreadyRunning: one at a time.
        NotAnyMore: the author may not edit policy any more.
    """
    if not 1 <= days <= MOST_DAYS:
        raise Invalid.at("/days", f"Write a number of days from 1 to {MOST_DAYS}.")
    with transaction.atomic():
        draft = locked_draft(workspace_id, draft_id)
        still_may(actor, Action.POLICY_EDIT, Target(workspace_id=workspace_id))
        until = now()
        since = until - timedelta(days=days)
        calls = ToolCall.objects.filter(
            workspace_id=workspace_id, created_at__gte=since, created_at__lte=until
        )
        made = Backtest(
            workspace_id=workspace_id,
            draft=draft,
            number=current_number(workspace_id),
            days=days,
            since=since,
            until=until,
            total=calls.count(),
            figures=Tally().dumps(),
            by_name=actor.name[:200],
        )
        try:
            with transaction.atomic():
                made.save(force_insert=True)
        except IntegrityError as error:
            raise AlreadyRunning from error
        record(
            "backtest.started",
            workspace_id=workspace_id,
            actor=actor,
            subject_id=made.pk,
            data=BacktestStarted(number=draft.base + 1, days=days, calls=made.total),
        )
        nudge_after_commit(made.pk)
    return made
