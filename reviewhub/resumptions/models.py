"""The outbox that wakes branches."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Workspace
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import Stateful
from reviewhub.resumptions.states import OPEN, ResumptionState
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import Pause


class ResumptionRows(models.QuerySet["Resumption"]):
    """Wakings."""

    def open(self) -> Self:
        """Those that still have to wake somebody, or are doing so; a branch has at most one."""
        return self.filter(state__in=OPEN)


class Resumption(Stateful):
    """One waking of one branch, written in the transaction that made it due.

    Without a pause it starts a hosted run. `pause_version` tells the settlements of one pause apart. `taken_at` is when
    the first worker took it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="resumptions")
    pause = models.ForeignKey(Pause, null=True, on_delete=models.PROTECT, related_name="resumptions")
    pause_version = models.PositiveIntegerField(default=0)
    kind = models.CharField(max_length=10)
    state = models.CharField(max_length=10, choices=ResumptionState.choices, default=ResumptionState.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField()
    # The branch waits for its child runs: whoever ends the last of them makes this due; at `due_at` it looks itself.
    for_children = models.BooleanField(default=False)
    taken_at = models.DateTimeField(null=True)
    lease_owner = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    objects: ClassVar[models.Manager[Resumption]] = ResumptionRows.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pause", "pause_version"], name="resumption_settlement_once"),
            models.UniqueConstraint(
                fields=["branch"], condition=Q(state__in=["queued", "claimed"]), name="resumption_open_once"
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"], name="resumption_due", condition=Q(state__in=["queued", "claimed"])
            )
        ]

    def __str__(self) -> str:
        return f"resumption {self.id}"


class Failure(models.Model):
    """One attempt of a waking that did not work out. `place` is how far its branch had come: the same one says no
    progress was made."""

    resumption = models.ForeignKey(Resumption, on_delete=models.PROTECT, related_name="failures")
    attempt = models.PositiveIntegerField()
    place = models.CharField(max_length=80)
    owner = models.CharField(max_length=120, blank=True)
    error = models.TextField(blank=True)
    at = models.DateTimeField()
    again_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["resumption", "attempt"], name="failure_of_attempt_once")
        ]

    def __str__(self) -> str:
        return self.error
