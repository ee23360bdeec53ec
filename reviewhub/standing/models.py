"""Standing approvals: what somebody approved and lets go through again, within bounds, and each time that it did."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from reviewhub.accounts.models import Agent, Member, Team, Workspace
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall


class StandingApproval(models.Model):
    """One remembered approval. It is for one agent, one environment, and one tool exactly as it was registered then.

    `run` narrows it to one run. `digest` narrows it to exactly the same call; where it is empty, `bounds` (JSON text
    with `when` and `expression`, as in a rule) has to hold. Nothing of it changes but `uses`, and once its end.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=40)
    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="+")
    tool_name = models.CharField(max_length=200)
    schema_fingerprint = models.CharField(max_length=80)
    digest = models.CharField(max_length=80, blank=True)
    bounds = models.TextField(default="{}")
    # Who answers for it, and for which team: it holds only what that team is asked for, while they may decide for it.
    owner = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    owner_name = models.CharField(max_length=200)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    # What it was made from; the number of the request is what people call it by.
    tool_call = models.OneToOneField(ToolCall, on_delete=models.PROTECT, related_name="+")
    request_number = models.BigIntegerField()
    until = models.DateTimeField()
    max_uses = models.PositiveIntegerField(null=True)
    uses = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by_name = models.CharField(max_length=200, blank=True)
    revoked_because = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(max_uses__isnull=True) | Q(uses__lte=F("max_uses")), name="standing_uses"
            ),
            models.CheckConstraint(condition=~Q(schema_fingerprint=""), name="standing_registered"),
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=True, revoked_by_name="")
                | (Q(revoked_at__isnull=False) & ~Q(revoked_by_name="")),
                name="standing_revoked",
            ),
        ]
        indexes = [
            models.Index(
                fields=["agent", "tool_name"], name="standing_in_force", condition=Q(revoked_at__isnull=True)
            ),
            models.Index(fields=["workspace", "-created_at", "-id"], name="standing_newest"),
        ]

    def __str__(self) -> str:
        return f"standing approval #{self.request_number}"


class StandingUse(models.Model):
    """One call that a standing approval let run; never changed (trigger)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    standing = models.ForeignKey(StandingApproval, on_delete=models.PROTECT, related_name="used")
    tool_call = models.OneToOneField(ToolCall, on_delete=models.PROTECT, related_name="standing_use")
    number = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["standing", "number"], name="standing_use_number_once")
        ]

    def __str__(self) -> str:
        return f"use {self.number} of {self.standing_id}"
