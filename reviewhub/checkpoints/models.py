"""Checkpoints: immutable commits of an agent's state."""

from __future__ import annotations

from django.db import models

from reviewhub.accounts.models import Workspace
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Branch, Run


class Checkpoint(models.Model):
    """One saved state. Rows are never changed; triggers refuse an UPDATE.

    `body` is the encoded canonical text of the state (`checkpoints.tree`), `state_hash` is over its field digests.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="checkpoints")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="checkpoints")
    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="children")
    number = models.PositiveIntegerField()
    node = models.CharField(max_length=200, blank=True)
    step = models.PositiveIntegerField(default=0)
    plan = models.TextField(default="null")
    state_hash = models.CharField(max_length=80)
    raw_length = models.PositiveIntegerField()
    body = models.BinaryField()
    reason = models.TextField(blank=True)
    author_kind = models.CharField(max_length=10, default="agent")
    author_name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["branch", "number"], name="checkpoint_number_once")]
        indexes = [models.Index(fields=["run", "-created_at", "-id"], name="checkpoint_run")]

    def __str__(self) -> str:
        return f"{self.branch_id} #{self.number}"
