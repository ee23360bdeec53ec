"""Reads of verdicts, and what in them is a reason to plan anew."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import QuerySet
from reviewhub_agents import wire

from reviewhub.plans.content import stored
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import in_force
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.states import CallState
from reviewhub.toolcalls.verdict_weight import Judgement, Weight, weights
from reviewhub.tools.acts import PREFIX
from reviewhub.verdicts.models import Verdict

MOST = 100
"""Calls and verdicts that are looked at."""


def of_call(call_id: uuid.UUID) -> list[Verdict]:
    """What was said of a call, in order."""
    return list(Verdict.objects.filter(tool_call_id=call_id).order_by("created_at", "id")[:MOST])


def newest_of_run(run_id: uuid.UUID, *, limit: int) -> list[Verdict]:
    """What was said in a run, the newest first, with the calls."""
    rows = Verdict.objects.filter(run_id=run_id).select_related("tool_call", "branch")
    return list(rows.order_by("-created_at", "-id")[:limit])


def signals(branch: Branch) -> wire.SignalsOut:
    """What speaks against the plan in force: failures in a row since it was written, a verdict that contradicts one
    of its assumptions or that a rule makes a reason, a person who asks for another one. Nothing where there is no plan.
    """
    version = in_force(branch.pk)
    if version is None:
        return wire.SignalsOut()
    said: dict[str, Any] = {}
    against = Verdict.objects.filter(branch=branch, plan=version.number, status=Verdict.Status.FAILED)
    for row in against.order_by("-created_at")[:MOST]:
        if row.source == Verdict.Source.PERSON:
            said.setdefault("asked", row.detail)
        elif row.contradicts in stored(version).assumptions and "contradicted" not in said:
            said |= {"contradicted": row.contradicts, "because": f"{row.name}: {row.detail}"}
    if "contradicted" not in said and (refused := _refused(branch, against)):
        said["refused"] = f"{refused.name}: {refused.detail}" if refused.detail else refused.name
    if failures := _failures(branch, version):
        said["failures"] = failures
    return wire.SignalsOut(version=version.number, **said)


def _refused(branch: Branch, against: QuerySet[Verdict]) -> Verdict | None:
    """The newest failed verdict that a rule of policy makes a reason to plan anew."""
    rows = list(
        against.filter(tool_call__isnull=False).select_related("tool_call").order_by("-created_at")[:MOST]
    )
    asked = [
        Judgement(name=row.name, tool=row.tool_call.tool_name, judges=row.judges, status=row.status)
        for row in rows
        if row.tool_call is not None
    ]
    run = branch.run
    found = weights(agent=run.agent, environment=run.environment, judgements=asked)
    return next((row for row, weight in zip(rows, found, strict=True) if weight is Weight.REPLAN), None)


def _failures(branch: Branch, version: PlanVersion) -> int:
    """How many of the newest calls failed, one after the other; those that did not run do not count."""
    calls = ToolCall.objects.filter(
        branch=branch,
        created_at__gt=version.created_at,
        state__in=(CallState.FAILED, CallState.SUCCEEDED),
    ).exclude(tool_name__startswith=PREFIX)
    count = 0
    for state in calls.order_by("-created_at", "-position").values_list("state", flat=True)[:MOST]:
        if state != CallState.FAILED:
            break
        count += 1
    return count
