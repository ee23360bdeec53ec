"""Why policy answers a call as it does: for `POST /policy/explain` and the policy page's trial."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from reviewhub.accounts.models import Agent
from reviewhub.policies import rules
from reviewhub.policies.evaluate import (
    CallFacts,
    InForce,
    Resolved,
    Then,
    as_of,
    call_of,
    in_force,
    resolve,
    team_ids,
    without_policy,
)
from reviewhub.policies.known_tools import registered
from reviewhub.policies.reading import parse_policy


@dataclass(frozen=True, kw_only=True)
class Explained:
    """The answer that `evaluate` would give, and what each rule up to it said. `is_by_then`: to a call of before, by
    what was known then."""

    answer: Resolved
    steps: tuple[rules.Step, ...]
    is_by_then: bool = False


def explain(
    *,
    workspace_id: uuid.UUID,
    agent: Agent,
    environment: str,
    call: CallFacts,
    rules_text: str | None = None,
    number: int | None = None,
    then: Then | None = None,
) -> Explained:
    """What the policy in force (or the draft `rules_text`, or version `number`) says to a call. Nothing is stored.

    Args:
        then: what was known of the call when that version answered it; None is what is known now.

    Raises:
        Invalid: the draft is not as it should be.
    """
    if number is not None:
        now = as_of(workspace_id, number)
    elif rules_text is None:
        now = in_force(workspace_id)
    else:
        now = InForce(0, parse_policy(rules_text), tools=registered(workspace_id))
    asked = call_of(call, agent=agent, environment=environment, tools=now.tools)
    if then is not None:
        asked = replace(asked, agent=then.agent, agent_team=then.agent_team, known=then.known)
    if now.policy is not None:
        found = rules.explain(now.policy, asked)
    else:
        found = rules.Explanation(without_policy(now, asked))
    teams = team_ids(workspace_id, [found.answer], agent=agent)
    return Explained(
        answer=resolve(found.answer, number=now.number, agent=agent, teams=teams), steps=found.steps
    )
