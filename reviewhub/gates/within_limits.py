"""Calls are held or denied where a limit of policy would be passed, and take their part of it."""

from __future__ import annotations

from collections.abc import Sequence

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.gates.prepare import Prepared, with_answer
from reviewhub.limits.by_now import Weighed
from reviewhub.limits.weigh import Weighing, reserve, weigh
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall


def within_limits(
    *, run: Run, agent: Agent, prepared: Sequence[Prepared]
) -> tuple[list[Prepared], list[Weighing]]:
    """New calls with what limits make of their answers; `take` writes down what each takes, when it is there."""
    weighings = weigh(
        agent=agent,
        environment=run.environment,
        calls=[(one.facts, one.answer) for one in prepared],
        policy=prepared[0].by.policy,
    )
    pairs = zip(prepared, weighings, strict=True)
    return [
        one if one.answer is found.answer else with_answer(one, found.answer) for one, found in pairs
    ], weighings


def take(*, calls: Sequence[ToolCall], weighings: Sequence[Weighing]) -> None:
    """What new calls take, from now on."""
    at = now() if any(one.within for one in weighings) else None
    for call, one in zip(calls, weighings, strict=True):
        if at is not None and one.within:
            reserve(call=call, takes=one.within, at=at)


def take_all(*, calls: Sequence[ToolCall], weighings: Sequence[Weighing]) -> None:
    """What calls take that ran already."""
    at = now()
    for call, one in zip(calls, weighings, strict=True):
        reserve(call=call, takes=one.started, at=at)


def start_within(call: ToolCall, weighed: Weighed) -> None:
    """The call starts: its part counts from now on."""
    reserve(call=call, takes=weighed.weighing.started, at=now())
