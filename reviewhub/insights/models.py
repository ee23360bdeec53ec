"""Backtests and the calls that they found; the figures of days, and what they are counted from beside the ledger.

Figures are counts of rows that stay as they are: `insights.roll_up` counts a day again until it is over.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Agent, Member, Workspace
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import Stateful
from reviewhub.insights.states import BacktestState
from reviewhub.policies.models import PolicyDraft
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import ToolCall


class Backtest(Stateful):
    """A draft against the recorded calls of some days, compared with the version that was in force when it began.

    A worker looks at the calls from `since` to `until`, the oldest first, one batch a transaction. `cursor_at` and
    `cursor_id` are the last call that is in the `figures`; `epoch` rises with each worker that takes it, and `beat_at`
    is that worker's last sign of life, None while nobody has it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    draft = models.ForeignKey(PolicyDraft, on_delete=models.PROTECT, related_name="backtests")
    state = models.CharField(max_length=10, choices=BacktestState.choices, default=BacktestState.OPEN)
    number = models.PositiveIntegerField()
    days = models.PositiveIntegerField()
    since = models.DateTimeField()
    until = models.DateTimeField()
    total = models.PositiveIntegerField()
    looked_at = models.PositiveIntegerField(default=0)
    cursor_at = models.DateTimeField(null=True)
    cursor_id = models.UUIDField(null=True)
    figures = models.TextField()
    epoch = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    beat_at = models.DateTimeField(null=True)
    by_name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace"], condition=Q(state="open"), name="backtest_open_once"
            ),
            models.CheckConstraint(condition=Q(state__in=BacktestState.values), name="backtest_state"),
            models.CheckConstraint(
                condition=Q(state="open", ended_at__isnull=True)
                | (~Q(state="open") & Q(ended_at__isnull=False)),
                name="backtest_ended_at",
            ),
        ]
        indexes = [models.Index(fields=["draft", "-created_at"], name="backtest_draft")]

    def __str__(self) -> str:
        return f"backtest {self.id}"


class BacktestCall(models.Model):
    """One of the calls behind a figure; of each heading the first so many are kept."""

    backtest = models.ForeignKey(Backtest, on_delete=models.PROTECT, related_name="calls")
    tool_call = models.ForeignKey(ToolCall, on_delete=models.PROTECT, related_name="+")
    heading = models.CharField(max_length=10)
    rule = models.CharField(max_length=200, blank=True)
    asks = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["backtest", "heading", "tool_call"], name="backtest_call_once")
        ]

    def __str__(self) -> str:
        return f"{self.heading} {self.tool_call_id}"


class Opening(models.Model):
    """When somebody who may decide a request first had its page before them, at one version of its call.

    Kept for the figures alone: from then to the vote is the most that anybody can have read.
    """

    request = models.ForeignKey(ReviewRequest, on_delete=models.PROTECT, related_name="+", db_index=False)
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+", db_index=False)
    version = models.PositiveIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request", "member", "version"], name="opening_once")]

    def __str__(self) -> str:
        return f"{self.member_id} opened {self.request_id} v{self.version}"


class Slice(models.Model):
    """What figures of requests can be narrowed to: one agent, tool, rule and set of teams that occurred together.

    `teams` are ids in their order with spaces between; `rule` is empty where no rule asked.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+", db_index=False)
    tool_name = models.CharField(max_length=200)
    rule = models.CharField(max_length=200, blank=True)
    teams = models.CharField(max_length=760, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "agent", "tool_name", "rule", "teams"], name="slice_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.rule}"


class Answered(models.Model):
    """The requests of one slice that became final on one day (UTC), by how they did.

    `escalated`: of them, those that a step of an escalation had to ask for. `waited_ms`, `waits`: how long those waited
    that people answered, as a sum and as a sketch. Requests about an unknown outcome count in the last three only.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    slice = models.ForeignKey(Slice, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    approved = models.PositiveIntegerField(default=0)
    edited = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    responded = models.PositiveIntegerField(default=0)
    expired = models.PositiveIntegerField(default=0)
    withdrawn = models.PositiveIntegerField(default=0)
    cancelled = models.PositiveIntegerField(default=0)
    escalated = models.PositiveIntegerField(default=0)
    happened = models.PositiveIntegerField(default=0)
    did_not_happen = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    waited_ms = models.PositiveBigIntegerField(default=0)
    waits = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "day", "slice"], name="answered_once")]

    def __str__(self) -> str:
        return f"{self.day} {self.slice_id}"


class EditedPath(models.Model):
    """In how many calls of one slice that people edited and let run on one day they changed one place."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    slice = models.ForeignKey(Slice, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    path = models.CharField(max_length=200)
    calls = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "day", "slice", "path"], name="edited_path_once")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.path}"


class Voted(models.Model):
    """The votes of one member on one day, also those that are void since.

    `measured`: approvals of which it is known when their page was opened, `quick`: of them, those that came sooner than
    the text can be read, `unopened`: approvals whose page was never opened. `open_ms`: the sketch of the times from
    opening to vote, of all verdicts. The streak is that of plain approvals (`insights.streaks`).
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    approved = models.PositiveIntegerField(default=0)
    edited = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    responded = models.PositiveIntegerField(default=0)
    measured = models.PositiveIntegerField(default=0)
    quick = models.PositiveIntegerField(default=0)
    unopened = models.PositiveIntegerField(default=0)
    streak_first = models.PositiveIntegerField(default=0)
    streak_longest = models.PositiveIntegerField(default=0)
    streak_last = models.PositiveIntegerField(default=0)
    open_ms = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "day", "member"], name="voted_once")]

    def __str__(self) -> str:
        return f"{self.day} {self.member_id}"


class Hour(models.Model):
    """How many requests of a workspace were opened and became final in one hour; those that expired are in `closed`."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField()
    opened = models.PositiveIntegerField(default=0)
    closed = models.PositiveIntegerField(default=0)
    expired = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "at"], name="hour_once")]

    def __str__(self) -> str:
        return f"{self.at}"


class Worked(models.Model):
    """What workers did for one agent in the shifts that began on one day and ended; in microseconds and tokens."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    useful_us = models.PositiveBigIntegerField(default=0)
    replay_us = models.PositiveBigIntegerField(default=0)
    recovery_us = models.PositiveBigIntegerField(default=0)
    overhead_us = models.PositiveBigIntegerField(default=0)
    losses = models.PositiveIntegerField(default=0)
    paid = models.PositiveBigIntegerField(default=0)
    spared = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "day", "agent"], name="worked_once")]

    def __str__(self) -> str:
        return f"{self.day} {self.agent_id}"


class RolledDay(models.Model):
    """A day whose figures were counted, and as of which moment; until it is final it is counted again."""

    day = models.DateField(primary_key=True)
    at = models.DateTimeField()
    is_final = models.BooleanField()

    class Meta:
        indexes = [models.Index(fields=["day"], name="rolled_day_due", condition=Q(is_final=False))]

    def __str__(self) -> str:
        return f"{self.day} as of {self.at}"


class Alarm(models.Model):
    """The managers were told that this call ran although policy would have held or denied it."""

    tool_call = models.OneToOneField(ToolCall, primary_key=True, on_delete=models.PROTECT, related_name="+")
    raised_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"alarm of {self.tool_call_id}"
