"""Runs and branches. The branch is what executes; a run's state is derived from its branches."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Agent, AgentKey, Member, Workspace
from reviewhub.core.fields import WordsField
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import Stateful
from reviewhub.runs.states import BranchState, RunState


def spend_limit() -> int:
    """What a new run may spend, in millionths; 0 is any."""
    return int(settings.RUN_SPEND_LIMIT) * 1_000_000


def time_limit() -> int:
    """How many seconds a new run may work; 0 is any."""
    return int(settings.RUN_TIME_LIMIT)


class Run(Stateful):
    """One execution of an agent."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="runs")
    key = models.ForeignKey(AgentKey, null=True, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=40)
    external_id = models.CharField(max_length=255, blank=True)
    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="children")
    # Of a child run: which of its agent's graphs it is, the run that nothing started but a person or a program, and how
    # far below that one it is. The root's limit on spending holds for all of them together.
    graph = models.CharField(max_length=120, blank=True)
    root = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="family")
    depth = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=12, choices=RunState.choices, default=RunState.RUNNING)
    title = models.CharField(max_length=400, blank=True)
    on_behalf_of = models.CharField(max_length=255, blank=True)
    labels = models.TextField(default="{}")
    input = models.TextField(default="null")
    result = models.TextField(default="null")
    error = models.TextField(blank=True)
    # The class that its agent named at the start, one of those that rules of the workspace are about.
    retention_class = models.CharField(max_length=40, blank=True)
    # When what this run said and held was erased; its ids and hashes stay.
    erased_at = models.DateTimeField(null=True)
    started_by = models.ForeignKey(Member, null=True, on_delete=models.PROTECT, related_name="+")
    # Whose the agent was when the run began: whoever hands it over stays behind what it asks for.
    agent_owned_by = models.ForeignKey(
        Member, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    # What its recorded model calls took, money in millionths; and how much of that, and of time, it may take (0: any).
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    spent_micros = models.BigIntegerField(default=0)
    spend_limit_micros = models.BigIntegerField(default=spend_limit)
    time_limit_seconds = models.PositiveIntegerField(default=time_limit)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "external_id"], condition=~Q(external_id=""), name="run_external_id_once"
            ),
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-created_at", "-id"], name="run_newest"),
            models.Index(fields=["workspace", "state", "-created_at", "-id"], name="run_state_newest"),
            models.Index(fields=["agent", "-created_at"], name="run_agent"),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)


class Words(models.Model):
    """What a run, or one of its tool calls, is found by (`core.words`). No secret is among them."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+")
    # Calls are a layer above, so no foreign key; empty for the run's own words.
    call_id = models.UUIDField(null=True)
    words = WordsField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["call_id"], name="words_call_once"),
            models.UniqueConstraint(fields=["run"], condition=Q(call_id=None), name="words_run_once"),
        ]

    def __str__(self) -> str:
        return f"{self.words[:60]}"


class Branch(Stateful):
    """The unit that executes: its head checkpoint, and a lease with an epoch that says who may write for it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="branches")
    name = models.CharField(max_length=120)
    state = models.CharField(max_length=12, choices=BranchState.choices, default=BranchState.RUNNING)
    head = models.UUIDField(null=True)
    epoch = models.BigIntegerField(default=0)
    lease_owner = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    # Whether it has started child runs: then each of its checkpoints pins where those are.
    has_children = models.BooleanField(default=False)
    # Whether one of its halts has not ended: then nothing starts for it. Changed with that row, under its lock.
    is_halted = models.BooleanField(default=False)
    fork_of = models.UUIDField(null=True)
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="supersedes")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    # Digest of what its agent said when it finished or failed it: a repeat says the same.
    ending = models.CharField(max_length=80, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "name"], name="branch_name_once"),
            models.CheckConstraint(condition=Q(state__in=BranchState.values), name="branch_state"),
            models.CheckConstraint(
                condition=Q(state="superseded") | Q(superseded_by__isnull=True), name="branch_superseded"
            ),
        ]
        indexes = [
            models.Index(fields=["lease_until"], name="branch_lease", condition=Q(lease_until__isnull=False))
        ]

    def __str__(self) -> str:
        return self.name


class Child(models.Model):
    """A child run as the branch that started it knows it: under a key, once, and how it ended.

    `branch` is the one that works for the parent; it is another one after a rewrite of the child. `born_after` is the
    number of the parent's head when it was started: the checkpoints after that one know of it. With `is_awaited` the
    parent is given up until it ends.
    """

    class Outcome(models.TextChoices):
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    parent_branch = models.ForeignKey(
        Branch, on_delete=models.PROTECT, related_name="children", db_index=False
    )
    key = models.CharField(max_length=255)
    graph = models.CharField(max_length=120)
    # Of graph and input: the same key with others is another child.
    digest = models.CharField(max_length=80)
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="child_of")
    born_after = models.PositiveIntegerField()
    is_awaited = models.BooleanField(default=False)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    result = models.TextField(default="null")
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["parent_branch", "key"], name="child_key_once"),
            models.CheckConstraint(
                condition=Q(outcome="", ended_at__isnull=True)
                | Q(outcome__in=["done", "failed", "cancelled"], ended_at__isnull=False),
                name="child_outcome",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Halt(models.Model):
    """A time in which nothing starts for a branch, begun by a person or a used up limit and ended by a person."""

    class Kind(models.TextChoices):
        PERSON = "person"
        TIME = "time"
        SPEND = "spend"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="halts")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    reason = models.TextField()
    by_name = models.CharField(max_length=200)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["branch"], condition=Q(ended_at__isnull=True), name="halt_open_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=["person", "time", "spend"]), name="halt_kind"),
        ]

    def __str__(self) -> str:
        return self.reason


class RetentionRule(models.Model):
    """How long checkpoints are kept: of one agent or all, of one class of runs or all. Empty is no limit.

    `keep_last` counts checkpoints of a branch; `max_age_days` and `thin_days` count from a checkpoint's save,
    `decided_days` and `delete_days` from the end of the run. `retention.rules` says what they mean.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="retention_rules")
    agent = models.ForeignKey(Agent, null=True, on_delete=models.PROTECT, related_name="retention_rules")
    run_class = models.CharField(max_length=40, blank=True)
    keep_last = models.PositiveIntegerField(null=True)
    max_age_days = models.PositiveIntegerField(null=True)
    thin_days = models.PositiveIntegerField(null=True)
    decided_days = models.PositiveIntegerField(null=True)
    delete_days = models.PositiveIntegerField(null=True)
    version = models.PositiveIntegerField(default=1)
    author_name = models.CharField(max_length=200)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "agent", "run_class"], name="retention_rule_of_agent_once"
            ),
            models.UniqueConstraint(
                fields=["workspace", "run_class"], condition=Q(agent=None), name="retention_rule_of_all_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent or 'all agents'} {self.run_class or 'all runs'}"
