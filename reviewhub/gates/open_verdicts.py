"""Webhooks that judge a call get their rows in the transaction of the call; workers ask them after the commit."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from django.conf import settings
from django.db import transaction

from reviewhub.accounts.models import Agent
from reviewhub.core import clock
from reviewhub.gates.hold import hold
from reviewhub.gates.prepare import Prepared, with_answer
from reviewhub.plans.queries import in_force
from reviewhub.toolcalls.models import ToolCall
from reviewhub.verdicts.models import Verdict
from reviewhub.verdicts.nudge import nudge
from reviewhub.verdicts.webhooks import about


def hold_for_webhooks(*, agent: Agent, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The calls, of which those that policy lets run wait where a webhook has to pass them first."""
    return [_held(agent, one) for one in prepared]


def open_verdicts(calls: Sequence[ToolCall], *, judges: str) -> None:
    """Writes a pending verdict for each webhook that judges one of these calls, in the caller's transaction."""
    if not settings.VERIFIERS:
        return
    now, rows = clock.now(), list[Verdict]()
    for call in calls:
        version = None
        for webhook in about(
            settings.VERIFIERS, tool=call.tool_name, judges=judges, workspace=call.workspace.slug
        ):
            version = version or in_force(call.branch_id)
            rows.append(
                Verdict(
                    workspace_id=call.workspace_id,
                    run_id=call.run_id,
                    branch_id=call.branch_id,
                    tool_call=call,
                    plan=version.number if version else 0,
                    name=webhook.name,
                    source=Verdict.Source.WEBHOOK,
                    judges=judges,
                    status=Verdict.Status.PENDING,
                    url=webhook.url,
                    seconds=webhook.seconds,
                    next_at=now,
                )
            )
    # A repeat of the same outcome has its rows already.
    Verdict.objects.bulk_create(rows, ignore_conflicts=True)
    for row in rows:
        transaction.on_commit(partial(_tell, row.pk), robust=True)


def _tell(verdict_id: uuid.UUID) -> None:
    nudge(verdict_id)


def _held(agent: Agent, one: Prepared) -> Prepared:
    if one.answer.action not in ("allow", "observe"):
        return one
    webhooks = about(
        settings.VERIFIERS,
        tool=one.proposal.tool_name,
        judges="proposal",
        workspace=agent.workspace.slug if settings.VERIFIERS else "",
    )
    names = [webhook.name for webhook in webhooks if webhook.gate]
    if not names:
        return one
    because = f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} to pass it first."
    return with_answer(replace(one), hold(one.answer, agent=agent, because=because))
