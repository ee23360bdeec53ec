"""What a step learns about a call it asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from reviewhub_agents import canonical

from .store import Call

Outcome = Literal["done", "invalid", "failed", "refused", "answered", "skipped"]


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """How a call ended, for the step and for the model.

    done: it ran, `value` is its result. invalid: it ran, and what it returned is not what its declaration says: kept
    in the ledger, `error` says where it differs, and there is no value to build upon.
    failed: it ran and did nothing, `error` says why. refused: nothing ran (rejected, denied by policy, or out of time).
    answered: a person gave `value` instead of letting it run; with `error` it is not what the tool would have returned.
    skipped: nothing ran, nobody minds (withdrawn, cancelled, or a person said to go on without it).
    `edited`: a person changed the arguments first.
    """

    outcome: Outcome
    decision: str
    by: str
    value: Any = None
    error: str = ""
    message: str = ""
    model_text: str = ""
    edited: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is a value to go on with."""
        return self.outcome == "done" or (self.outcome == "answered" and not self.error)


def result_of(call: Call, *, misfit: str = "") -> ToolResult:
    """The result of a call that is over. `misfit` says why what came of it is nothing that the tool may return."""
    outcome, text = _outcome(call)
    error = call.error
    if outcome == "done" and misfit:
        outcome, text, error = "invalid", None, f"The result is not as declared: {misfit}"
    elif outcome == "answered" and misfit:
        error = f"The answer is not what the tool would return: {misfit}"
    decision = call.decision
    return ToolResult(
        outcome=outcome,
        decision=decision.type if decision else "",
        by=decision.by_name if decision else "",
        value=canonical.plain(canonical.reread(text)) if text is not None else None,
        error=error,
        message=decision.message if decision else "",
        edited=decision is not None and decision.edited,
        model_text=call.model_text,
    )


def _outcome(call: Call) -> tuple[Outcome, str | None]:
    if call.state == "succeeded":
        return "done", call.result
    if call.state == "failed":
        return "failed", None
    if call.state == "denied":
        return "refused", None
    if call.state == "skipped":
        answered = call.decision is not None and call.decision.type == "respond"
        return ("answered", call.decision.value if call.decision else None) if answered else ("skipped", None)
    raise ValueError(f"a call that is {call.state} is not over")
