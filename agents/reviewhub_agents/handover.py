"""A note for whoever goes on with a run, made from the record and not from anybody's memory. Pure.

A model that goes on after a pause, a crash or a rewrite has only its conversation, and that may be shortened. The note
says what the record says: the plan and how far it is, what was done and must not be done again, what runs, what nobody
knows, what waits, and who decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reviewhub_agents import canonical
from reviewhub_agents.wire import CallState, Effect, PlanOut, PlanStepOut, ToolCallOut

MOST = 50
MOST_CHARACTERS = 300


def note(*, plan: PlanOut | None, calls: Sequence[ToolCallOut], elsewhere: Sequence[ToolCallOut] = ()) -> str:
    """The note, in English, for the model.

    Args:
        plan: the one in force.
        calls: of the branch, in the order in which they were proposed. Of each kind the newest MOST are named.
        elsewhere: calls of other branches of the run that acted, or may have.
    """
    by_state = {state: [call for call in calls if call.state is state] for state in CallState}
    read = [call for call in by_state[CallState.SUCCEEDED] if call.effect is Effect.READ]
    done = [call for call in by_state[CallState.SUCCEEDED] if call.effect is not Effect.READ]
    waiting = by_state[CallState.PROPOSED] + by_state[CallState.WAITING]
    parts = [
        _plan(plan),
        _part("Done. Do not do it again:", done),
        f"Read without changing anything: {len(read)} calls." if read else "",
        _part("Failed, and did nothing:", by_state[CallState.FAILED]),
        _part(
            "Refused or skipped; it was not executed:",
            by_state[CallState.DENIED] + by_state[CallState.SKIPPED],
        ),
        _part("Running now; how it ends is not known yet:", by_state[CallState.STARTED]),
        _part(
            "Nobody knows whether it happened; people are asked. Do not do it again:",
            by_state[CallState.UNKNOWN],
        ),
        _part("Allowed, and not run yet:", by_state[CallState.ALLOWED]),
        _part("Waiting for people:", waiting),
        _part("On other branches of this run, not undone:", elsewhere),
    ]
    said = [part for part in parts if part]
    return "\n\n".join(said) if said else "Nothing is on record yet."


def _plan(plan: PlanOut | None) -> str:
    if plan is None:
        return ""
    lines = [f"The plan in force is version {plan.version}:", *_steps(plan.steps, 0)]
    lines += [f"It takes for granted: {one.text}" for one in plan.assumptions]
    return "\n".join(lines)


def _steps(steps: Iterable[PlanStepOut], depth: int) -> list[str]:
    lines: list[str] = []
    for step in steps:
        lines.append(f"{'  ' * depth}- [{step.status.value}] {_short(step.title)}")
        lines += _steps(step.steps, depth + 1)
    return lines


def _part(title: str, calls: Sequence[ToolCallOut]) -> str:
    if not calls:
        return ""
    left_out = len(calls) - MOST
    lines = [title, *(f"- {_line(call)}" for call in calls[-MOST:])]
    return "\n".join(lines + ([f"- and {left_out} earlier ones"] if left_out > 0 else []))


def _line(call: ToolCallOut) -> str:
    said = [call.tool]
    decision = call.decision
    if decision is not None:
        by = decision.by.name or decision.by.kind.value
        said.append(f"({decision.type.value} by {by})")
        if decision.edited and decision.arguments is not None:
            said.append(f"with {_short(canonical.dumps(decision.arguments))}")
        if decision.message:
            said.append(f"because: {_short(decision.message)}")
    elif call.request is not None:
        said.append(f"(request #{call.request.number})")
    if call.state is CallState.SUCCEEDED:
        said.append(f"→ {_short(canonical.dumps(call.result))}")
    elif call.error:
        said.append(f"→ {_short(call.error)}")
    return " ".join(said)


def _short(text: str) -> str:
    """One line of it: what an agent or a person wrote must not look like a line of the note."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"
