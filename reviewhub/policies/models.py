"""Published policies."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Agent, Workspace
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import Stateful
from reviewhub.policies.states import DraftState


class PolicyVersion(models.Model):
    """One published list of rules; the highest number is in force. Rows are never changed (trigger)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="policy_versions")
    number = models.PositiveIntegerField()
    rules = models.TextField()
    note = models.CharField(max_length=400, blank=True)
    author_name = models.CharField(max_length=200)
    # The version that it brings back, when somebody rolled back.
    restores = models.PositiveIntegerField(null=True)
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "number"], name="policy_number_once")]

    def __str__(self) -> str:
        return f"v{self.number}"


class KnownTool(models.Model):
    """A tool as it was registered when a version was published, of those that the version may let run.

    Rows are never changed (trigger): a tool that is renamed or gets another schema is known to later versions only.
    """

    version = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="known_tools")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    schema_fingerprint = models.CharField(max_length=80)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "agent", "name"], name="known_tool_once"),
            models.CheckConstraint(condition=~models.Q(schema_fingerprint=""), name="known_tool_registered"),
        ]

    def __str__(self) -> str:
        return self.name


class PolicyDraft(Stateful):
    """A policy that is not in force. Its text never changes: who edits it makes another draft in its place."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="policy_drafts")
    state = models.CharField(max_length=10, choices=DraftState.choices, default=DraftState.DRAFT)
    base = models.PositiveIntegerField()
    rules = models.TextField()
    note = models.CharField(max_length=400, blank=True)
    author_name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    shadow_since = models.DateTimeField(null=True)
    published_as = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace"],
                condition=Q(state__in=["draft", "shadow"]),
                name="policy_draft_open_once",
            ),
            models.CheckConstraint(condition=Q(state__in=DraftState.values), name="policy_draft_state"),
            models.CheckConstraint(
                condition=~Q(state="shadow") | Q(shadow_since__isnull=False), name="policy_draft_shadow_since"
            ),
            models.CheckConstraint(
                condition=Q(state="published", published_as__isnull=False)
                | (~Q(state="published") & Q(published_as__isnull=True)),
                name="policy_draft_published_as",
            ),
        ]

    def __str__(self) -> str:
        return f"draft {self.id}"
