"""What a standing approval covers: pure. It answers in place of people, and never in place of policy.

It lifts an answer only if that is one approval by one person of the team that it was given for, asked for by a rule or
by the last line. A denial, a guardrail, a limit, a call held because something about it is wrong, or a requirement of
more than one person stands whatever was remembered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from reviewhub.policies.call import Call
from reviewhub.policies.matching import Part, parts
from reviewhub.policies.rules import CHANGED_SINCE, Answer, Rule

# What a tool was when the policy was published does not matter here: what it was when somebody approved it does.
_LIFTED = frozenset({CHANGED_SINCE})


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """A standing approval as plain values. `bounds` are the tool and the conditions as a rule that lets run."""

    id: UUID
    number: int
    owner: str
    environment: str
    run_id: UUID | None
    schema_fingerprint: str
    digest: str
    bounds: Rule
    until: datetime
    uses: int
    max_uses: int | None
    is_revoked: bool
    may_decide: bool

    @property
    def is_used_up(self) -> bool:
        """Whether it has let run as many calls as it may."""
        return self.max_uses is not None and self.uses >= self.max_uses


@dataclass(frozen=True, kw_only=True)
class Asking:
    """The call that may be covered: what policy knows of it, and which one it is."""

    call: Call
    schema_fingerprint: str
    digest: str
    run_id: UUID | None


def why_not(answer: Answer) -> str:
    """Why no standing approval can take the place of people here, for people; empty when one can."""
    needed = answer.requirement
    if answer.action == "deny":
        return f"Policy denies it. {answer.text}"
    if needed is None:
        return f"Policy lets it run without anybody. {answer.text}"
    if answer.layer != "rule":
        return f"Somebody has to look at each such call. {answer.text}"
    if held := [reason for reason in answer.held_because if reason not in _LIFTED]:
        return f"It is held: {held[0]}."
    if needed.approvals > 1 or needed.four_eyes:
        return "It needs more than one person's yes, and one person's memory is not that."
    if needed.sign_in_minutes is not None or needed.typed_confirmation:
        return "Whoever approves it has to confirm it each time."
    if "approve" not in needed.allowed_decisions:
        return "Approving is no answer here."
    return ""


def covers(one: Remembered, asking: Asking, *, at: datetime) -> Iterator[Part]:
    """What each part of a standing approval says to a call; it covers the call if all of them hold."""
    yield from in_force(one, asking, at=at)
    yield Part("uses", not one.is_used_up, _uses(one))


def in_force(one: Remembered, asking: Asking, *, at: datetime) -> Iterator[Part]:
    """As `covers`, for a call whose use is counted already."""
    yield Part("revoked", not one.is_revoked, "was revoked" if one.is_revoked else "is not revoked")
    yield Part(
        "until",
        at < one.until,
        f"{'holds' if at < one.until else 'held'} until {one.until:%Y-%m-%d %H:%M} UTC",
    )
    able = one.may_decide
    yield Part("owner", able, f"{one.owner} {'may' if able else 'may not'} decide what its team is asked")
    if one.run_id is not None:
        yield Part("run", one.run_id == asking.run_id, f"is for run {one.run_id} only")
    yield Part("environment", one.environment == asking.call.environment, f"is for {one.environment} only")
    same = one.schema_fingerprint == asking.schema_fingerprint
    yield Part("schema", same, f"the tool {'is as' if same else 'has changed since'} it was approved")
    if one.digest:
        same = one.digest == asking.digest
        yield Part(
            "arguments", same, f"the arguments are {'' if same else 'not '}exactly those that were approved"
        )
    yield from parts(one.bounds, asking.call)


def decisive(said: list[Part]) -> Part | None:
    """The part for which it does not cover the call; None when it does."""
    failed = [part for part in said if part.holds is False]
    return next(iter(failed or [part for part in said if part.holds is None]), None)


def lifted_text(one: Remembered, *, use: int) -> str:
    """Why the call runs, for people."""
    of = f" of {one.max_uses}" if one.max_uses is not None else ""
    return (
        f"{one.owner} approved calls like #{one.number} until {one.until:%Y-%m-%d %H:%M} UTC (use {use}{of})."
    )


def bounds_text(one: Remembered) -> str:
    """What it covers, in words."""
    if one.digest:
        what = "with exactly the same arguments"
    else:
        tests = [str(condition) for condition in one.bounds.when]
        tests += [one.bounds.expression] if one.bounds.expression else []
        what = f"where {' and '.join(tests)}" if tests else "with any arguments"
    return f"{what}, {'in the same run' if one.run_id else 'in any run'} in {one.environment}"


def _uses(one: Remembered) -> str:
    if one.max_uses is None:
        return f"was used {one.uses} times, any number is allowed"
    return f"was used {one.uses} of {one.max_uses} times"


def state_of(one: Remembered, *, at: datetime) -> str:
    """Whether it holds, or why it ended."""
    if one.is_revoked:
        return "revoked"
    if at >= one.until:
        return "over"
    return "used_up" if one.is_used_up else "in_force"
