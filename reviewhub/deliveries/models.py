"""What goes out to people: an outbox of e-mails."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Workspace
from reviewhub.core.ids import uuid7


class Email(models.Model):
    """One e-mail to send; written in the transaction of what it tells of."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    to = models.EmailField()
    subject = models.CharField(max_length=400)
    body = models.TextField()
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(sent_at__isnull=True) | Q(failed_at__isnull=True), name="email_one_end"
            )
        ]
        indexes = [
            models.Index(
                fields=["next_at"],
                name="email_due",
                condition=Q(sent_at__isnull=True, failed_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return self.subject
