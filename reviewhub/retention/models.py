"""How far retention has come."""

from __future__ import annotations

from django.db import models

from reviewhub.runs.models import Run


class Progress(models.Model):
    """When a run was last looked at to its end, and whether blobs of removed checkpoints are still to go."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="+")
    seen_at = models.DateTimeField(null=True)
    blobs_due = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["seen_at"], name="retention_seen")]

    def __str__(self) -> str:
        return f"{self.run_id} seen {self.seen_at}"
