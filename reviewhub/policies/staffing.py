"""Whether enough people are there for what a policy asks of its teams."""

from __future__ import annotations

import uuid
from collections import Counter

from reviewhub.accounts.models import Agent, Team
from reviewhub.accounts.queries import deciders_of
from reviewhub.policies.reading import Caution
from reviewhub.policies.rules import Policy, Rule


def understaffed(policy: Policy, workspace_id: uuid.UUID) -> list[Caution]:
    """Rules that ask for more approvals than a team has people who may decide; the first such team of each rule."""
    many = deciders_of(workspace_id)
    deciders = {team.name: many[team.pk] for team in Team.objects.filter(workspace_id=workspace_id)}
    teams_of = dict(Agent.objects.filter(workspace_id=workspace_id).values_list("name", "team__name"))
    found = []
    every = [
        (layer, position, rule)
        for layer, rules in policy.layers
        for position, rule in enumerate(rules, start=1)
        if rule.action == "require"
    ]
    for layer, position, rule in every:
        short = next(
            ((name, many) for name, many in _asked(rule, teams_of) if deciders.get(name, 0) < many), None
        )
        if short is not None:
            words = _words(short[1], short[0], deciders.get(short[0], 0))
            found.append(
                Caution(position=position, rule=rule.name, code="understaffed", message=words, layer=layer)
            )
    return found


def _asked(rule: Rule, teams_of: dict[str, str]) -> list[tuple[str, int]]:
    """The teams that the rule may ask, by name, and for how many approvals in all: each person approves once."""
    agents = sorted({team for agent, team in teams_of.items() if rule.agent in (None, agent)})
    many: Counter[str] = Counter()
    for stage in rule.asks:
        for name in (stage.team,) if stage.team is not None else agents:
            many[name] += stage.approvals
    return list(many.items())


def _words(approvals: int, team: str, many: int) -> str:
    have = {0: "nobody", 1: "one person"}.get(many, f"{many} people")
    needed = "an approval" if approvals == 1 else f"{approvals} approvals"
    return f"It asks for {needed}, but {team} has {have} who can decide."
