"""An answer of policy is made stricter: whatever it was, a person has to say yes."""

from __future__ import annotations

from dataclasses import replace

from reviewhub.accounts.models import Agent
from reviewhub.policies.evaluate import Resolved
from reviewhub.policies.rules import Requirement


def hold(answer: Resolved, *, agent: Agent, because: str) -> Resolved:
    """The answer as an approval: policy's own requirement or one of the agent's team; silence never allows."""
    needed = answer.requirement or Requirement.of_own_team(agent.team.name)
    return replace(
        answer,
        action="require",
        text=f"{answer.text} {because}",
        requirement=needed.model_copy(update={"on_timeout": "deny"}),
        team_ids=answer.team_ids or (agent.team_id,),
        held_because=(*answer.held_because, because),
        is_least=answer.is_least or answer.requirement is None,
    )
