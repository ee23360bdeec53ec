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
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.verdict_weight import Judgement, Weight, weights
from reviewhub.verdicts.models import Verdict
from reviewhub.verdicts.nudge import nudge
from reviewhub.verdicts.webhooks import about


def hold_for_webhooks(*, run: Run, agent: Agent, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The calls, of which those that policy lets run wait where a webhook has to pass them first."""
    return [_held(agent, run.environment, one) for one in prepared]


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


def gates_of(*, agent: Agent, environment: str, tool: str) -> list[str]:
    """The webhooks that have to pass a call of this tool before it runs, as the settings or a rule of policy say."""
    if not settings.VERIFIERS:
        return []
    webhooks = about(settings.VERIFIERS, tool=tool, judges="proposal", workspace=agent.workspace.slug)
    asked = [Judgement(name=one.name, tool=tool, judges="proposal", status="pending") for one in webhooks]
    found = weights(agent=agent, environment=environment, judgements=asked)
    return [
        webhook.name
        for webhook, weight in zip(webhooks, found, strict=True)
        if webhook.gate or weight in (Weight.GATE, Weight.REPLAN)
    ]


def _held(agent: Agent, environment: str, one: Prepared) -> Prepared:
    if one.answer.action not in ("allow", "observe"):
        return one
    names = gates_of(agent=agent, environment=environment, tool=one.proposal.tool_name)
    if not names:
        return one
    because = f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} to pass it first."
    return with_answer(replace(one), hold(one.answer, agent=agent, because=because))
