"""The registry of what agents can do."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Agent, Workspace
from reviewhub.core.ids import uuid7
from reviewhub.tools.acts import act_of


class Effect(models.TextChoices):
    """What running a tool twice means."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    ONCE = "once"


class Risk(models.TextChoices):
    """How much harm a wrong call does; set by admins, never lowered by agents."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


DEFAULT_RISK = {Effect.READ: Risk.LOW, Effect.IDEMPOTENT: Risk.MEDIUM, Effect.ONCE: Risk.HIGH}


class Tool(models.Model):
    """A named capability of one agent. Schema and effect are the agent's; sentence and risk the admins'."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="tools")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    schema = models.TextField(blank=True)
    result_schema = models.TextField(blank=True)
    fingerprint = models.CharField(max_length=80, blank=True)
    # Of what decides what a call can do: name, schema, effect. What an admin lets run is a tool with this one.
    schema_fingerprint = models.CharField(max_length=80, blank=True)
    effect = models.CharField(max_length=10, choices=Effect.choices, default=Effect.ONCE)
    # The stronger effect that it had, while no admin has taken the agent's word for the weaker one; else empty.
    effect_held = models.CharField(max_length=10, choices=Effect.choices, blank=True)
    time_limit_seconds = models.PositiveIntegerField(default=300)
    retry = models.TextField(default="{}")
    registered_at = models.DateTimeField(null=True)
    risk = models.CharField(max_length=8, choices=Risk.choices, blank=True)
    sentence = models.CharField(max_length=400, blank=True)
    first_seen_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "name"], name="tool_name_once"),
            models.CheckConstraint(condition=Q(effect__in=Effect.values), name="tool_effect"),
            models.CheckConstraint(
                condition=Q(effect_held__in=["", *Effect.values]), name="tool_effect_held"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_registered(self) -> bool:
        """Whether the agent described it, or the server knows it as its own; what is neither always needs approval."""
        return self.registered_at is not None or act_of(self.name) is not None

    @property
    def policy_effect(self) -> str:
        """What policy goes by: a weaker effect that only the agent says loosens no guardrail."""
        return self.effect_held or self.effect

    @property
    def effective_risk(self) -> str:
        """The admins' risk, or the default for the effect."""
        return self.risk or DEFAULT_RISK[Effect(self.effect)]
