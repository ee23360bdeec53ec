"""Published policies."""

from __future__ import annotations

from django.db import models

from reviewhub.accounts.models import Workspace
from reviewhub.core.ids import uuid7


class PolicyVersion(models.Model):
    """One published list of rules; the highest number is in force. Rows are never changed (trigger)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="policy_versions")
    number = models.PositiveIntegerField()
    rules = models.TextField()
    note = models.CharField(max_length=400, blank=True)
    author_name = models.CharField(max_length=200)
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "number"], name="policy_number_once")]

    def __str__(self) -> str:
        return f"v{self.number}"
