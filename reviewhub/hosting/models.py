"""What hosted-style agents keep besides checkpoints."""

from __future__ import annotations

from django.db import models

from reviewhub.accounts.models import Agent, Workspace
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Run


class Record(models.Model):
    """The memoised result of one step, model call or random choice of a branch: written once, read at every replay."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="records")
    key = models.CharField(max_length=255)
    value = models.TextField()
    digest = models.CharField(max_length=80)
    # Of a model's answer: what it took, as the provider said, and what that costs by the prices of then, in millionths.
    model = models.CharField(max_length=120, blank=True)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cost_micros = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["branch", "key"], name="record_key_once")]

    def __str__(self) -> str:
        return self.key


class Shift(models.Model):
    """A worker's time with one branch, from claiming it to letting it go; what it measured is for figures only.

    Without `ended_at` the worker is at it, or dead: the next one that claims the branch closes it as `lost`. The
    columns in microseconds are those of `goodput.rules.Spent`; `queue_us` is how long the waking waited for a worker.
    """

    class Ending(models.TextChoices):
        PAUSED = "paused"
        FINISHED = "finished"
        FAILED = "failed"
        LOST = "lost"

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="shifts")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="+")
    resumption = models.ForeignKey(Resumption, on_delete=models.PROTECT, related_name="+", db_index=False)
    owner = models.CharField(max_length=120)
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    ending = models.CharField(max_length=8, choices=Ending.choices, blank=True)
    queue_us = models.PositiveBigIntegerField(default=0)
    useful_us = models.PositiveBigIntegerField(default=0)
    replay_us = models.PositiveBigIntegerField(default=0)
    recovery_us = models.PositiveBigIntegerField(default=0)
    saving_us = models.PositiveBigIntegerField(default=0)
    ledger_us = models.PositiveBigIntegerField(default=0)
    saves = models.PositiveIntegerField(default=0)
    paid = models.PositiveBigIntegerField(default=0)
    spared = models.PositiveBigIntegerField(default=0)
    after_loss = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ended_at__isnull=True, ending="")
                | models.Q(ended_at__isnull=False, ending__in=["paused", "finished", "failed", "lost"]),
                name="shift_ending",
            )
        ]
        indexes = [models.Index(fields=["agent", "began_at"], name="shift_agent")]

    def __str__(self) -> str:
        return f"shift {self.pk} of {self.owner}"
