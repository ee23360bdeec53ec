"""Whether enough people are there for what a policy asks of its teams."""

from __future__ import annotations

import uuid

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
            (name for name in _asked(rule, teams_of) if deciders.get(name, 0) < rule.approvals), None
        )
        if short is not None:
            words = _words(rule.approvals, short, deciders.get(short, 0))
            found.append(
                Caution(position=position, rule=rule.name, code="understaffed", message=words, layer=layer)
            )
    return found


def _asked(rule: Rule, teams_of: dict[str, str]) -> list[str]:
    """The teams that the rule may ask, by name."""
    if rule.team is not None:
        return [rule.team]
    return sorted({team for agent, team in teams_of.items() if rule.agent in (None, agent)})


def _words(approvals: int, team: str, many: int) -> str:
    have = {0: "nobody", 1: "one person"}.get(many, f"{many} people")
    needed = "an approval" if approvals == 1 else f"{approvals} approvals"
    return f"It asks for {needed}, but {team} has {have} who can decide."
