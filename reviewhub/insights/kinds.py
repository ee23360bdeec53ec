"""What the record says about backtests."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind(
    "backtest.started",
    says="{actor} started a backtest of a draft of policy v{number}, {calls} calls of {days} days",
)
class BacktestStarted(Payload):
    number: int
    days: int
    calls: int


@kind("backtest.cancelled", says="{actor} cancelled a backtest after {looked_at} calls")
class BacktestCancelled(Payload):
    looked_at: int


@kind(
    "backtest.ended",
    says="A backtest looked at {looked_at} calls: {held} more would wait, {freed} would run, {denied} would be denied, "
    "{rerouted} would wait for others",
)
class BacktestEnded(Payload):
    looked_at: int
    held: int
    freed: int
    denied: int = 0
    rerouted: int = 0


@kind("backtest.failed", says="A backtest was given up after {looked_at} calls: {because}")
class BacktestFailed(Payload):
    looked_at: int
    because: str


@kind(
    "alarm.raised",
    says="Managers were told that {calls} calls ran without the approval that policy asks for; the first: {tool}",
)
class AlarmRaised(Payload):
    calls: int
    tool: str
