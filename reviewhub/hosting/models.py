"""What hosted-style agents keep besides checkpoints."""

from __future__ import annotations

from django.db import models

from reviewhub.accounts.models import Workspace
from reviewhub.runs.models import Branch


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
