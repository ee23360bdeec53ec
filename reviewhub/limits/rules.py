"""What a call takes of a limit, and whether that is too much: pure, on exact decimals.

A call that is within a limit takes its part while it may still run, runs, or has run. Rejected, expired, withdrawn, or
failed without having done anything, it takes nothing any more; one whose outcome nobody knows still does. A call that
would pass a limit takes its part when it starts after all, because people said so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext

from reviewhub.policies.arguments import Arguments
from reviewhub.policies.call import Call
from reviewhub.policies.conditions import amount_at
from reviewhub.policies.limit import DECIMALS, MOST_AMOUNT, Limit
from reviewhub.policies.rules import Rule

UNITS = 1_000_000
"""`DECIMALS` of them."""
HOLDING = ("waiting", "allowed", "started", "unknown", "succeeded")
"""States of calls that take their part. One that reported what it had done in part always does."""


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """One call on one limit. `why` says what is wrong; empty when it is within."""

    limit: Limit
    units: int
    used: int
    why: str
    is_countable: bool = True


def about(limits: Sequence[Limit], call: Call) -> list[Limit]:
    """The limits that a call counts for."""
    return [
        limit
        for limit in limits
        if limit.is_about(
            tool=call.tool, agent=call.agent, agent_team=call.agent_team, environment=call.environment
        )
    ]


def weighed(limit: Limit, call: Call, *, used: int) -> Weighed:
    """The call on a limit of which `used` millionths are taken within its time."""
    units = units_of(limit, call.arguments)
    if isinstance(units, str):
        why = f"limit {limit.name} cannot be counted: {units}"
        return Weighed(limit=limit, units=0, used=used, why=why, is_countable=False)
    over = units > 0 and used + units > limit.maximum * UNITS
    what = limit.sum_of or "calls"
    taken = f"{said(used)} of {limit.most} {what} are taken, and this takes {said(units)}"
    why = f"limit {limit.name}: {taken}" if over else ""
    return Weighed(limit=limit, units=units, used=used, why=why)


def asks(one: Weighed) -> Rule:
    """What a limit that is passed asks for, as a guardrail would. What cannot be counted is never denied for it."""
    limit = one.limit
    if limit.then == "deny" and one.is_countable:
        return Rule(name=limit.name, tool="*", action="deny")
    if limit.then == "deny":
        return Rule(name=limit.name, tool="*", action="require")
    return Rule(
        name=limit.name,
        tool="*",
        action="require",
        team=limit.team,
        approvals=limit.approvals,
        deadline_seconds=limit.deadline_seconds,
    )


def said(units: int) -> str:
    """Millionths as people write the number."""
    text = f"{Decimal(units) / UNITS:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def units_of(limit: Limit, arguments: Arguments) -> int | str:
    """What a call with these arguments takes, in millionths, or why that cannot be counted."""
    if limit.sum_of is None:
        return UNITS
    amount = amount_at(arguments, limit.sum_of)
    if isinstance(amount, str):
        return amount
    if amount < 0:
        return f"{limit.sum_of} is less than nothing"
    if amount > MOST_AMOUNT:
        return f"{limit.sum_of} is more than {MOST_AMOUNT}"
    with localcontext(Context(prec=100)):
        units = amount * UNITS
        whole = int(units)
        return whole if units == whole else f"{limit.sum_of} has more than {DECIMALS} decimals"
