"""Whether enough people are there for what a policy asks of its teams."""

from __future__ import annotations

import uuid
from collections import Counter

from reviewhub.accounts.models import Agent, Team
from reviewhub.accounts.queries import deciders_of, hands_in_agents, who_decides
from reviewhub.policies.index import is_about
from reviewhub.policies.reading import Caution
from reviewhub.policies.rules import Policy, Rule
from reviewhub.policies.sifting import Names, Sifted
from reviewhub.tools.models import Tool


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


def dead_ends(policy: Policy, workspace_id: uuid.UUID) -> list[Caution]:
    """Rules of four eyes for which too few people are left: whoever owns the agent or made a key of it never signs, and
    neither does whoever starts the run, is acted for, or edits the call."""
    every = [
        (layer, position, rule)
        for layer, rules in policy.layers
        for position, rule in enumerate(rules, start=1)
        if rule.action == "require" and rule.four_eyes
    ]
    if not every:
        return []
    deciders, hands = who_decides(workspace_id), hands_in_agents(workspace_id)
    agents = list(Agent.objects.filter(workspace_id=workspace_id).values_list("name", "team__name"))
    called: dict[str, set[str]] = {}
    for agent, tool in Tool.objects.filter(workspace_id=workspace_id).values_list("agent__name", "name"):
        called.setdefault(agent, set()).add(tool)
    found, names = [], Names(name for each in called.values() for name in each)
    for layer, position, rule in every:
        meant = {
            name for name in names.covered(Sifted(rule.tool), exactly=rule.lets_run) if is_about(rule, name)
        }
        about = [
            (name, team)
            for name, team in agents
            if rule.agent in (None, name)
            and rule.agent_team in (None, team)
            and not meant.isdisjoint(called.get(name, ()))
        ]
        words = next(
            (said for name, team in sorted(about) if (said := _dead_end(rule, name, team, deciders, hands))),
            "",
        )
        if words:
            found.append(
                Caution(position=position, rule=rule.name, code="four_eyes", message=words, layer=layer)
            )
    return found


def _dead_end(
    rule: Rule,
    agent: str,
    own_team: str,
    deciders: dict[str, set[uuid.UUID]],
    hands: dict[str, set[uuid.UUID]],
) -> str:
    """How calls of an agent get stuck under a rule of four eyes; empty when they do not."""
    for team, many in _asked(rule, {agent: own_team}):
        there = deciders.get(team, set())
        left = there - hands.get(agent, set())
        if len(there) < many:
            continue  # said by `understaffed`
        needed = "an approval" if many == 1 else f"{many} approvals"
        if len(left) < many:
            have = {0: "nobody", 1: "one person"}.get(len(left), f"{len(left)} people")
            are = "is" if many == 1 else "are"
            return (
                f"Under four eyes nobody could sign calls of {agent}: of {team} {needed} {are} needed, and "
                f"without those who own the agent or made its keys it has {have}."
            )
        if len(left) == many:
            people = "the one person" if many == 1 else f"each of the {many} people"
            return (
                f"Under four eyes {people} of {team} who may sign calls of {agent} must not start the run, be acted "
                f"for, or edit the call: there is nobody else."
            )
    return ""


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
