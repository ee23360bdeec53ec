"""Retention as the API shows it: reads only."""

from __future__ import annotations

import uuid
from typing import Any

from reviewhub_agents import wire

from reviewhub.checkpoints.models import Hold, Pin
from reviewhub.checkpoints.queries import removed_of
from reviewhub.gates.present_runs import removed_out
from reviewhub.retention.estimate import Estimate, estimate
from reviewhub.retention.forecast import Looked
from reviewhub.retention.models import Progress
from reviewhub.retention.queries import failing
from reviewhub.retention.rules import Limits
from reviewhub.retention.survey import as_limits, default_limits, limits_of
from reviewhub.runs.models import RetentionRule, Run

MOST = 200
"""Entries of a list that has no pages."""


def retention_out(workspace_id: uuid.UUID) -> wire.RetentionOut:
    """What is in force in a workspace; of holds and failures the newest and the oldest MOST."""
    rules = RetentionRule.objects.filter(workspace_id=workspace_id).select_related("agent")
    holds = Hold.objects.filter(run__workspace_id=workspace_id).select_related("run")
    return wire.RetentionOut(
        default=default_limits().words,
        rules=[rule_out(row) for row in rules.order_by("agent__name", "run_class")],
        held=[
            wire.HeldRun(run=one.run_id, title=one.run.title, hold=kept_out(one))
            for one in holds.order_by("-created_at")[:MOST]
        ],
        failing=[_failing(one) for one in failing(workspace_id)[:MOST]],
    )


def dry_run_out(looked: Looked) -> wire.DryRunOut:
    """What would go, run by run."""
    fields: dict[str, Any] = {"next": looked.next} if looked.next else {}
    return wire.DryRunOut(
        runs=[
            wire.RunGoes(run=run.pk, title=run.title, goes=_goes(goes))
            for run, goes in looked.runs
            if not goes.is_nothing
        ],
        goes=_goes(sum((goes for _, goes in looked.runs), Estimate())),
        looked_at=len(looked.runs),
        **fields,
    )


def run_retention_out(run: Run) -> wire.RunRetentionOut:
    """What is in force for a run, and what became of it."""
    fields: dict[str, Any] = {}
    if (hold := Hold.objects.filter(run=run).first()) is not None:
        fields["hold"] = kept_out(hold)
    progress = Progress.objects.select_related("run").filter(run=run).first()
    if progress is not None and progress.seen_at is not None:
        fields["seen_at"] = progress.seen_at
    if progress is not None and progress.failing_since is not None:
        fields["failing"] = _failing(progress)
    if run.erased_at is not None:
        fields["erased_at"] = run.erased_at
    pins = Pin.objects.filter(run=run).select_related("checkpoint__branch").defer("checkpoint__content")
    return wire.RunRetentionOut(
        run=run.pk,
        says=limits_of(run).words,
        goes=_goes(estimate(run)),
        pins=[
            wire.PinOut(
                checkpoint=one.checkpoint_id,
                branch=one.checkpoint.branch.name,
                number=one.checkpoint.number,
                pin=kept_out(one),
            )
            for one in pins.order_by("-created_at")[:MOST]
        ],
        removed=removed_out(removed_of(run.pk, most=MOST)),
        **fields,
    )


def kept_out(one: Hold | Pin) -> wire.KeptOut:
    """A hold or a pin."""
    return wire.KeptOut(reason=one.reason, by=one.by_name, since=one.created_at)


def rule_out(row: RetentionRule) -> wire.RuleOut:
    """A rule, without the limits that are not set."""
    limits = as_limits(row)
    fields: dict[str, Any] = {
        name: value for name in Limits.__dataclass_fields__ if (value := getattr(limits, name)) is not None
    }
    if row.agent is not None:
        fields["agent"] = row.agent.name
    return wire.RuleOut(
        run_class=row.run_class,
        says=limits.words,
        version=row.version,
        by=row.author_name,
        since=row.updated_at,
        **fields,
    )


def _failing(one: Progress) -> wire.FailingOut:
    assert one.failing_since is not None and one.failed_at is not None
    return wire.FailingOut(
        run=one.run_id,
        title=one.run.title,
        problem=one.problem,
        since=one.failing_since,
        at=one.failed_at,
    )


def _goes(goes: Estimate) -> wire.GoesOut:
    tiers = [wire.TierBytes(tier=tier, bytes=size) for tier, size in sorted(goes.sizes.items())]
    return wire.GoesOut(checkpoints=goes.checkpoints, blobs=goes.blobs, tiers=tiers, cost=f"{goes.cost:.6f}")
