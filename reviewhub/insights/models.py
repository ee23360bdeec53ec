"""Backtests, and the calls that they found."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Workspace
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import Stateful
from reviewhub.insights.states import BacktestState
from reviewhub.policies.models import PolicyDraft
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
