"""What policy asks less of an agent's calls once the agent is another team's, or has a key for another environment.

Publishing says which tools it frees; so does whatever else changes which lines are about an agent's calls. Arguments
are not looked at: what may be, is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reviewhub_agents import canonical

from reviewhub.accounts.models import Agent, AgentKey, Team
from reviewhub.policies.evaluate import CallFacts, InForce, call_of, in_force
from reviewhub.policies.facts import facts_of_tool
from reviewhub.policies.matching import matched
from reviewhub.policies.names import reads_like
from reviewhub.policies.newly_known import runs_by
from reviewhub.policies.rules import Call, Policy, Rule, possible, unconditional
from reviewhub.tools.acts import FINISH, PLAN, PREFIX, act_of
from reviewhub.tools.models import Tool

_TEXTS = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, order=True)
class Loosened:
    """Calls of one tool of which less is asked then; `says` in which way. `tool` is empty where it is about no tool."""

    tool: str
    says: str

    def __str__(self) -> str:
        return f"{self.tool} {self.says}" if self.tool else self.says


@dataclass(frozen=True)
class _Case:
    """A call of a tool, and the policy as far as it can be about it."""

    policy: Policy
    call: Call


def by_moving(agent: Agent, team: Team) -> list[Loosened]:
    """What the policy in force would ask less of the agent's calls if they were another team's."""
    now = in_force(agent.workspace_id)
    if now.policy is None or agent.team_id == team.pk:
        return []
    found = [
        Loosened(call.tool, says)
        for call in _calls(now, agent)
        for says in _less([_Case(now.policy, call)], _Case(now.policy, replace(call, agent_team=team.name)))
    ]
    for limit in now.policy.waiting:
        teams = [limit.is_about(agent=agent.name, agent_team=name) for name in (agent.team.name, team.name)]
        if teams == [True, False]:
            found.append(
                Loosened("", f"the waiting limit {limit.name} would not count its requests any more")
            )
    return sorted(set(found))


def by_key(agent: Agent, environment: str) -> list[Loosened]:
    """What the policy in force would ask less of the agent's calls by a key for this environment than by those that the
    agent has; nothing where it has none yet."""
    now = in_force(agent.workspace_id)
    keys = AgentKey.objects.filter(agent=agent, revoked_at__isnull=True)
    had = sorted(set(keys.values_list("environment", flat=True)))
    if now.policy is None or not had or environment in had:
        return []
    policies = {name: _within(now.policy, name) for name in (*had, environment)}
    found = [
        Loosened(call.tool, says)
        for call in _calls(now, agent)
        for says in _less(
            [_Case(policies[name], replace(call, environment=name)) for name in had],
            _Case(policies[environment], replace(call, environment=environment)),
        )
    ]
    return sorted(set(found))


def digest_of(found: Sequence[Loosened]) -> str:
    """Travels from the list that somebody saw to the change, so that nothing else is agreed to; empty for nothing."""
    return canonical.body_digest([str(one) for one in found]) if found else ""


def _calls(now: InForce, agent: Agent) -> list[Call]:
    """A call of each of the agent's tools, and of what is no tool and has lines of its own."""
    facts = [facts_of_tool(tool) for tool in Tool.objects.filter(agent=agent).order_by("name")]
    for name in sorted(_acts(now.policy or Policy())):
        if (act := act_of(name)) is not None:
            facts.append(CallFacts(tool=name, registered=True, effect=act.effect))
    return [call_of(one, agent=agent, environment="", tools=now.tools) for one in facts]


def _acts(policy: Policy) -> set[str]:
    lines = (*policy.guardrails, *policy.rules)
    named = {re.sub(r"[*?]", "x", line.tool) for line in lines if line.tool.startswith(PREFIX)}
    return named | {PLAN, FINISH}


def _within(policy: Policy, environment: str) -> Policy:
    """The lines that are about this environment, as if they were about any."""
    layers = {
        layer: tuple(
            line.model_copy(update={"environment": None})
            for line in getattr(policy, layer)
            if line.environment is None or _is(line, environment)
        )
        for layer in ("guardrails", "rules", "limits")
    }
    return policy.model_copy(update=layers)


def _is(line: Rule, environment: str) -> bool:
    wanted = line.environment or ""
    return wanted == environment or (not line.lets_run and reads_like(wanted, environment))


def _less(before: Sequence[_Case], after: _Case) -> list[str]:
    """In which ways less is asked of a call `after` than in any of the cases `before`."""
    ran = {says for case in before for says in _runs(case)}
    found = [says for says in _runs(after) if says not in ran]
    held = dict.fromkeys(line for case in before for line in _holding(case))
    there = set(_holding(after))
    found += [f"would not be held by the {line} any more" for line in held if line not in there]
    if before[0].call.agent_team != after.call.agent_team:
        found += [
            f"is looked at by the {line}, which asks for the team in its expression"
            for line in held
            if line in there and line.looks_at_team
        ]
    return found


def _runs(case: _Case) -> list[str]:
    """By which rules calls may run without anybody's yes, in words."""
    return [says for one in possible(case.policy, case.call) if (says := runs_by(one, case.policy))]


@dataclass(frozen=True)
class _Line:
    layer: str
    name: str
    looks_at_team: bool = False

    def __str__(self) -> str:
        return f"{self.layer} {self.name}"


def _holding(case: _Case) -> Iterator[_Line]:
    """The lines that may hold, deny or count a call."""
    policy, call = case.policy, case.call
    for _, rule in policy.guardrail_index.about(call.tool):
        if matched(unconditional(rule), call).holds is not False:
            yield _Line("guardrail", rule.name, looks_at_team(rule))
    for limit in policy.limits:
        where = {"environment": limit.environment or "", "agent": call.agent, "agent_team": call.agent_team}
        if limit.is_about(tool=call.tool, **where):
            yield _Line("limit", limit.name)
    for _, rule in policy.index.about(call.tool):
        anywhere = unconditional(rule)
        if matched(anywhere, call).holds is False:
            continue
        if not rule.lets_run:
            yield _Line("rule", rule.name, looks_at_team(rule))
        if anywhere == rule:
            return


def looks_at_team(rule: Rule) -> bool:
    """Whether an expression asks which team's the agent is."""
    return bool(re.search(r"(?<![\w.])team\b", _TEXTS.sub("", rule.expression or "")))


def says(rule: Rule, text: str) -> bool:
    """Whether a text of an expression has these words in it."""
    return any(text in one for one in _TEXTS.findall(rule.expression or ""))
