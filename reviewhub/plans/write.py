"""Writes a version of a branch's plan: one immutable row on top of the version that its writer knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max
from reviewhub_agents import canonical

from reviewhub.core.actors import Actor
from reviewhub.plans.content import Content
from reviewhub.plans.models import PlanVersion
from reviewhub.runs.models import Branch, Run


@dataclass(frozen=True, kw_only=True)
class Why:
    """Why there is a new version. `kind` is one of `wire.PlanWhyKind`."""

    kind: str
    failures: int | None = None
    assumption: str = ""
    text: str = ""


def write(
    *,
    branch: Branch,
    before: PlanVersion | None,
    content: Content,
    statuses: Mapping[str, str],
    why: Why,
    actor: Actor,
    restores: int | None = None,
) -> PlanVersion:
    """Writes the next version, in the caller's transaction; the caller records what it was for.

    Args:
        branch: locked by the caller.
        before: the version in force, as `base` found it under that lock; None when there is none yet.
        statuses: of the steps that do not begin as pending.
        restores: the number of the version whose content this is.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a plan is written in the transaction of what it belongs to")
    # The run is the last lock there is: its numbers count over all branches.
    Run.objects.select_for_update(no_key=True).get(pk=branch.run_id)
    newest = PlanVersion.objects.filter(run_id=branch.run_id).aggregate(newest=Max("number"))["newest"] or 0
    return PlanVersion.objects.create(
        workspace_id=branch.workspace_id,
        run_id=branch.run_id,
        branch=branch,
        number=newest + 1,
        base=before.number if before else 0,
        restores=restores,
        content=content.text,
        statuses=canonical.dumps(dict(statuses)),
        why_kind=why.kind,
        failures=why.failures,
        assumption=why.assumption,
        reason=why.text,
        author_kind=actor.kind,
        author_name=actor.name[:200],
    )
