"""Plans: immutable versions of what an agent intends, and the marks that say how far their steps are."""

from __future__ import annotations

from django.db import models

from reviewhub.accounts.models import Workspace
from reviewhub.core.ids import uuid7
from reviewhub.plans.states import StepStatus
from reviewhub.runs.models import Branch, Run


class PlanVersion(models.Model):
    """One version of a branch's plan. Rows are never changed; triggers refuse it.

    Numbers count within the run, so that a number names one version whatever the branch. The newest version of a branch
    is the one in force there; `base` is the one it was made from (0 for none), and each is the base of one version of a
    branch at most: of two writers that start from the same one, the second is refused.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="plans", db_index=False)
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="plans", db_index=False)
    number = models.PositiveIntegerField()
    base = models.PositiveIntegerField(default=0)
    restores = models.PositiveIntegerField(null=True)
    content = (
        models.TextField()
    )  # canonical JSON of {assumptions, steps}: what is intended, without how far it is
    statuses = models.TextField(
        default="{}"
    )  # canonical JSON of step id → status, of those that are not pending
    why_kind = models.CharField(max_length=12)
    failures = models.PositiveIntegerField(null=True)
    assumption = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    author_kind = models.CharField(max_length=10)
    author_name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="plan_number_once"),
            models.UniqueConstraint(fields=["branch", "base"], name="plan_base_once"),
        ]

    def __str__(self) -> str:
        return f"plan {self.number}"


class StepMark(models.Model):
    """A step of a version came to a status. Rows are never changed; how far a step is says its newest one."""

    pk = models.CompositePrimaryKey("version_id", "number")
    version = models.ForeignKey(PlanVersion, on_delete=models.PROTECT, related_name="marks", db_index=False)
    number = models.PositiveIntegerField()
    step = models.CharField(max_length=100)
    status = models.CharField(max_length=8)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=StepStatus.values), name="plan_step_status"),
        ]

    def __str__(self) -> str:
        return f"{self.step}: {self.status}"
