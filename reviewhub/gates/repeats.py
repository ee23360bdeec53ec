"""An equal `once` call that (perhaps) ran on another branch of the same run goes to a person, with that fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reviewhub.accounts.models import Agent
from reviewhub.gates.hold import hold
from reviewhub.gates.prepare import Prepared, with_answer
from reviewhub.gates.reconsider import repeat_fact
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import acted_elsewhere
from reviewhub.tools.models import Effect


def hold_repeats(*, branch: Branch, agent: Agent, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The calls, where those that repeat a `once` call of another branch need a person whatever policy allowed.

    The run is locked: an equal call that starts afterwards is found when this one is consumed.
    """
    alike = [one.proposal.likeness for one in prepared if one.proposal.effect == Effect.ONCE]
    if not alike:
        return list(prepared)
    acted = acted_elsewhere(run_id=branch.run_id, branch_id=branch.pk, alike=alike)
    return [_held(one, agent, acted.get(one.proposal.likeness, [])) for one in prepared]


def _held(one: Prepared, agent: Agent, twins: Sequence[ToolCall]) -> Prepared:
    if not twins or one.answer.action == "deny" or one.proposal.effect != Effect.ONCE:
        return one
    held = with_answer(one, hold(one.answer, agent=agent, because=repeat_fact(twins)))
    return replace(held, repeats=tuple(twin.pk for twin in twins))
