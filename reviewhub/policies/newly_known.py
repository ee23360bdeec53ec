"""Tools that a policy would let run once it is published, and that wait until then because nobody looked at them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from reviewhub.policies.compare import RUNS
from reviewhub.policies.evaluate import call_of
from reviewhub.policies.facts import facts_of_tool
from reviewhub.policies.known_tools import known_to, registered
from reviewhub.policies.queries import current
from reviewhub.policies.rules import Answer, Policy, possible
from reviewhub.tools.models import Tool


@dataclass(frozen=True, kw_only=True)
class NewlyKnown:
    """A tool that becomes known by publishing. `says`: what the answer to its calls changes to; `was_known`: it was
    known as it was registered before."""

    agent: str
    tool: str
    says: str
    was_known: bool


def newly_known(policy: Policy, workspace_id: uuid.UUID) -> list[NewlyKnown]:
    """The registered tools that the version in force does not know, or not as they are now, and that this policy lets
    run, by agent and name."""
    latest = current(workspace_id)
    before = known_to(latest.pk) if latest else frozenset()
    now = registered(workspace_id)
    names = {(agent, name) for agent, name, _ in before}
    rows = Tool.objects.filter(workspace_id=workspace_id, registered_at__isnull=False)
    found: list[NewlyKnown] = []
    for tool in rows.select_related("agent__team").order_by("name", "agent__name"):
        if (tool.agent_id, tool.name, tool.schema_fingerprint) in before:
            continue
        call = call_of(facts_of_tool(tool), agent=tool.agent, environment="", tools=now)
        said = [words for answer in possible(policy, call) if (words := runs_by(answer, policy))]
        if said:
            was_known = (tool.agent_id, tool.name) in names
            found.append(
                NewlyKnown(agent=tool.agent.name, tool=tool.name, says=" or ".join(said), was_known=was_known)
            )
    return found


def runs_by(answer: Answer, policy: Policy) -> str:
    """How an answer lets a call run without anybody's yes; empty when it does not."""
    silence = answer.requirement is not None and answer.requirement.on_timeout == "allow"
    if answer.position is None or not (answer.action in RUNS or silence):
        return ""
    rule = policy.rules[answer.position - 1]
    where = " where it holds" if rule.has_conditions or rule.environment is not None else ""
    return f"would run by rule {rule.name}{where}{', when nobody answers in time' if silence else ''}"
