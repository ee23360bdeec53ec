"""What others than the agent say of its plans, steps and results: verifiers, and people who want another plan."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Workspace
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import ToolCall


class Verdict(models.Model):
    """One verdict, about a tool call or, without one, about the plan in force. A pending one is a webhook to be asked.

    `plan` is the version that was in force then, 0 for none: a trigger to plan anew is spent when another one is.
    """

    class Source(models.TextChoices):
        """Who says it."""

        FUNCTION = "function"
        MODEL = "model"
        WEBHOOK = "webhook"
        PERSON = "person"

    class Status(models.TextChoices):
        """How it came out. Only `passed` is a yes."""

        PENDING = "pending"
        PASSED = "passed"
        FAILED = "failed"
        ERROR = "error"
        TIMED_OUT = "timed_out"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="verdicts")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="verdicts", db_index=False)
    tool_call = models.ForeignKey(ToolCall, null=True, on_delete=models.PROTECT, related_name="verdicts")
    plan = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=200)
    source = models.CharField(max_length=8, choices=Source.choices)
    judges = models.CharField(max_length=8)
    status = models.CharField(max_length=9, choices=Status.choices)
    detail = models.TextField(blank=True)
    contradicts = models.CharField(max_length=100, blank=True)
    by_name = models.CharField(max_length=200, blank=True)
    url = models.CharField(max_length=2000, blank=True)
    seconds = models.PositiveSmallIntegerField(default=0)
    # Of a pending one: when a worker may ask (again); claiming it moves this on.
    next_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tool_call", "name", "judges"],
                condition=Q(tool_call__isnull=False),
                name="verdict_once",
            ),
            models.CheckConstraint(
                condition=Q(status="pending", source="webhook", ended_at__isnull=True, next_at__isnull=False)
                | (~Q(status="pending") & Q(ended_at__isnull=False, next_at__isnull=True)),
                name="verdict_ended",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "passed", "failed", "error", "timed_out"]),
                name="verdict_status",
            ),
        ]
        indexes = [
            models.Index(fields=["branch", "-created_at"], name="verdict_branch"),
            models.Index(fields=["next_at"], name="verdict_due", condition=Q(status="pending")),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.status}"
