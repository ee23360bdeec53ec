"""An equal `once` call that (perhaps) ran on another branch of the same run goes to a person, with that fact."""

from __future__ import annotations

from collections.abc import Sequence

from reviewhub.accounts.models import Agent
from reviewhub.gates.hold import hold
from reviewhub.gates.prepare import Prepared, with_answer
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.states import CallState
from reviewhub.tools.models import Effect

ACTED = (CallState.STARTED, CallState.UNKNOWN, CallState.SUCCEEDED)


def hold_repeats(*, branch: Branch, agent: Agent, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The calls, where those that repeat a `once` call of another branch need a person whatever policy allowed."""
    digests = [one.proposal.digest for one in prepared if one.proposal.effect == Effect.ONCE]
    if not digests:
        return list(prepared)
    acted = dict(
        ToolCall.objects.filter(run_id=branch.run_id, digest__in=digests, state__in=ACTED)
        .exclude(branch_id=branch.pk)
        .values_list("digest", "state")
    )
    return [_held(one, agent, acted) for one in prepared]


def _held(one: Prepared, agent: Agent, acted: dict[str, str]) -> Prepared:
    state = acted.get(one.proposal.digest)
    if state is None or one.answer.action == "deny" or one.proposal.effect != Effect.ONCE:
        return one
    fact = f"The same call is {state} on another branch of this run."
    return with_answer(one, hold(one.answer, agent=agent, because=fact))
