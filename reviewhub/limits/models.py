"""What calls have taken of the limits of policy."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Agent, Workspace
from reviewhub.core.ids import uuid7
from reviewhub.toolcalls.models import ToolCall


class Meter(models.Model):
    """What one limit, found by its name, is counted on: one for each agent, or one for all together.

    Whoever reserves locks it first, so that what it holds is added up by one transaction at a time.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    limit = models.CharField(max_length=200)
    agent = models.ForeignKey(Agent, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "limit", "agent"],
                condition=Q(agent__isnull=False),
                name="meter_once_by_agent",
            ),
            models.UniqueConstraint(
                fields=["workspace", "limit"], condition=Q(agent__isnull=True), name="meter_once_for_all"
            ),
        ]

    def __str__(self) -> str:
        return self.limit


class Reservation(models.Model):
    """What one call takes of a meter, in millionths, from `at` on. Whether it still does, the call's state says.

    `at` is when it was proposed, edited or, at last, started.
    """

    meter = models.ForeignKey(Meter, on_delete=models.PROTECT, related_name="reservations")
    tool_call = models.ForeignKey(ToolCall, on_delete=models.PROTECT, related_name="reservations")
    units = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["meter", "tool_call"], name="reservation_once"),
            models.CheckConstraint(
                condition=Q(units__gte=0, units__lte=10**18), name="reservation_can_be_added_up"
            ),
        ]
        indexes = [models.Index(fields=["meter", "at"], name="reservation_window")]

    def __str__(self) -> str:
        return f"{self.units} of {self.meter_id}"
