"""What agents propose to do: pauses, tool calls and their versions, decisions, grants, and the ledger of attempts."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Agent, Member, Workspace
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import Stateful
from reviewhub.policies.models import PolicyDraft
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.states import CallState, DecisionType, GrantState, Mode, PauseState
from reviewhub.tools.models import Effect


class Pause(Stateful):
    """One stop of a branch. `open_calls` counts the calls that still wait; who brings it to 0 wakes the branch."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="pauses")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="pauses")
    # May have been removed by retention since; then its tombstone is there.
    checkpoint = models.ForeignKey(
        Checkpoint, null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False
    )
    state = models.CharField(max_length=8, choices=PauseState.choices)
    open_calls = models.PositiveIntegerField()
    version = models.PositiveIntegerField(default=1)
    settled_at_once = models.BooleanField(default=False)
    resume_kind = models.CharField(max_length=10, default="poll")
    created_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["branch"], condition=Q(state="waiting"), name="pause_open_once"),
            models.CheckConstraint(
                condition=Q(state="waiting", open_calls__gt=0) | Q(state="settled", open_calls=0),
                name="pause_open_calls",
            ),
        ]
        indexes = [models.Index(fields=["branch", "-created_at"], name="pause_branch")]

    def __str__(self) -> str:
        return f"pause {self.id}"


class ToolCall(Stateful):
    """One proposed (or observed) tool call. `call_id` is the provider's label and no key: it repeats inside runs."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    # Whose the agent was when it asked.
    agent_owned_by = models.ForeignKey(
        Member, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="tool_calls")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="tool_calls")
    pause = models.ForeignKey(Pause, null=True, on_delete=models.PROTECT, related_name="tool_calls")
    # May have been removed by retention since; then its tombstone is there.
    checkpoint = models.ForeignKey(
        Checkpoint, null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False
    )
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.GATED)
    position = models.PositiveIntegerField(default=0)
    call_id = models.CharField(max_length=255, blank=True)
    tool_name = models.CharField(max_length=200)
    effect = models.CharField(max_length=10, choices=Effect.choices)
    time_limit_seconds = models.PositiveIntegerField(default=300)
    state = models.CharField(max_length=10, choices=CallState.choices, default=CallState.PROPOSED)
    version = models.PositiveIntegerField(default=1)
    digest = models.CharField(max_length=80)
    claims = models.TextField(default="{}")
    policy_version = models.PositiveIntegerField(default=0)
    because = models.TextField(default="{}")
    ran_without_approval = models.BooleanField(default=False)
    # How many in a hundred such calls the rule that observes it wants looked at; none for what no such rule let run.
    sample_percent = models.PositiveSmallIntegerField(null=True)
    attempt = models.PositiveIntegerField(default=0)
    idempotency_key = models.CharField(max_length=80)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    partial = models.TextField(null=True)
    result = models.TextField(null=True)
    error = models.TextField(null=True)
    outcome_digest = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=CallState.values), name="call_state"),
            models.CheckConstraint(condition=Q(effect__in=Effect.values), name="call_effect"),
            models.CheckConstraint(condition=Q(mode="observed") | Q(pause__isnull=False), name="call_pause"),
            # A gated call cannot be under way, or over, without an attempt that consumed a grant; `happened` says
            # what an attempt did.
            models.CheckConstraint(
                condition=Q(mode="observed")
                | ~Q(state__in=["started", "succeeded", "failed", "unknown"])
                | Q(attempt__gt=0),
                name="call_attempt",
            ),
        ]
        indexes = [
            models.Index(fields=["pause", "position"], name="call_pause_position"),
            models.Index(fields=["branch", "-created_at"], name="call_branch"),
            models.Index(fields=["started_at"], name="call_started", condition=Q(state="started")),
            models.Index(fields=["workspace", "created_at"], name="call_workspace"),
            # What ran although policy would have held or denied it.
            models.Index(
                fields=["workspace", "created_at"],
                name="call_unapproved",
                condition=Q(ran_without_approval=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.id}"


class CallVersion(models.Model):
    """The exact arguments of a call as they were at one version; never changed (trigger)."""

    tool_call = models.ForeignKey(ToolCall, on_delete=models.PROTECT, related_name="versions")
    version = models.PositiveIntegerField()
    arguments = models.TextField()
    digest = models.CharField(max_length=80)
    likeness = models.CharField(max_length=64)
    changes = models.TextField(default="[]")
    author_kind = models.CharField(max_length=10)
    author_id = models.UUIDField(null=True)
    author_name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tool_call", "version"], name="call_version_once")]
        # Equal calls on other branches of a run are found by it, however many calls the run has.
        indexes = [models.Index(fields=["likeness"], name="call_version_likeness")]

    def __str__(self) -> str:
        return f"{self.tool_call_id} v{self.version}"


class Decision(models.Model):
    """A final answer to a tool call; never changed (trigger). A call asked again has more than one."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    tool_call = models.ForeignKey(ToolCall, on_delete=models.PROTECT, related_name="decisions")
    request_id = models.UUIDField(null=True)
    type = models.CharField(max_length=16, choices=DecisionType.choices)
    version = models.PositiveIntegerField()
    digest = models.CharField(max_length=80)
    by_kind = models.CharField(max_length=10)
    by_id = models.UUIDField(null=True)
    by_name = models.CharField(max_length=200)
    message = models.TextField(blank=True)
    note = models.TextField(blank=True)
    value = models.TextField(null=True)
    policy_version = models.PositiveIntegerField(default=0)
    decided_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["request_id"], condition=Q(request_id__isnull=False), name="decision_request_once"
            ),
            models.CheckConstraint(condition=Q(type__in=DecisionType.values), name="decision_type"),
        ]
        indexes = [models.Index(fields=["tool_call", "-decided_at"], name="decision_call")]

    def __str__(self) -> str:
        return f"{self.type} by {self.by_name}"


class Grant(Stateful):
    """The single-use right to run one exact tool call."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    tool_call = models.ForeignKey(ToolCall, on_delete=models.PROTECT, related_name="grants")
    decision = models.ForeignKey(Decision, on_delete=models.PROTECT, related_name="+")
    version = models.PositiveIntegerField()
    digest = models.CharField(max_length=80)
    state = models.CharField(max_length=8, choices=GrantState.choices, default=GrantState.OPEN)
    by_policy = models.BooleanField(default=False)
    # Set when the pause settles: a grant does not age while siblings still wait.
    expires_at = models.DateTimeField(null=True)
    consumed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tool_call"], condition=Q(state="open"), name="grant_open_once"),
            models.CheckConstraint(
                condition=Q(state="consumed", consumed_at__isnull=False)
                | (~Q(state="consumed") & Q(consumed_at__isnull=True)),
                name="grant_consumed_at",
            ),
        ]
        # What was allowed and did not run.
        indexes = [
            models.Index(
                fields=["workspace", "created_at"], name="grant_unused", condition=~Q(state="consumed")
            )
        ]

    def __str__(self) -> str:
        return f"grant {self.id}"


class Attempt(models.Model):
    """One start of a tool: the intent, written before anything runs. Its key lives only in the caller's memory."""

    tool_call = models.ForeignKey(ToolCall, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    grant = models.ForeignKey(Grant, on_delete=models.PROTECT, related_name="attempts")
    key_hash = models.CharField(max_length=64)
    # The epoch of the lease that it was started under; 0 for an agent that polls and never claimed.
    epoch = models.BigIntegerField(default=0)
    started_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tool_call", "number"], name="attempt_number_once"),
            models.UniqueConstraint(fields=["tool_call", "key_hash"], name="attempt_key_once"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_call_id} attempt {self.number}"


class ShadowAnswer(models.Model):
    """A call that the draft in shadow would have treated otherwise than the policy in force did, or could not decide.

    `asks` is whom the draft would have asked; of what is undecided, which rules are and why.
    """

    class Change(models.TextChoices):
        HELD = "held"
        FREED = "freed"
        DENIED = "denied"
        REROUTED = "rerouted"
        FAILED = "failed"
        UNDECIDED = "undecided"

    draft = models.ForeignKey(PolicyDraft, on_delete=models.PROTECT, related_name="+")
    tool_call = models.ForeignKey(ToolCall, on_delete=models.PROTECT, related_name="+")
    change = models.CharField(max_length=9, choices=Change.choices)
    rule = models.CharField(max_length=200, blank=True)
    asks = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "tool_call", "change"], name="shadow_answer_once")
        ]
        indexes = [models.Index(fields=["draft", "change", "-id"], name="shadow_answer_draft")]

    def __str__(self) -> str:
        return f"{self.tool_call_id} {self.change}"
