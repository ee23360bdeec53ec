"""How far retention has come."""

from __future__ import annotations

from django.db import models

from reviewhub.runs.models import Run


class Progress(models.Model):
    """When a run was last looked at, and whether blobs of removed checkpoints are still to go.

    While looks at it fail: since when, when last, and why. The next one that succeeds empties these.
    """

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="+")
    seen_at = models.DateTimeField(null=True)
    blobs_due = models.BooleanField(default=False)
    failing_since = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    problem = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["seen_at"], name="retention_seen"),
            # Those that fail are few.
            models.Index(
                fields=["failing_since"],
                condition=models.Q(failing_since__isnull=False),
                name="retention_failing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} seen {self.seen_at}"
