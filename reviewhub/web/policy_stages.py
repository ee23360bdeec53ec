"""Whom a rule asks, as fields of the policy editor: stages of teams, and the steps of an escalation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reviewhub.policies.requirement import MOST_STAGES, MOST_STEPS, Escalation, Stage
from reviewhub.web.policy_times import Unread, duration_words, seconds_of, whole

MANAGERS = "managers"
OWN = "own"
TEAM = "team:"


@dataclass(frozen=True)
class StageForm:
    """A stage after the first as its fields; `team` is `own` for the agent's own team, empty for no stage."""

    team: str = ""
    approvals: str = "1"
    together: bool = False


@dataclass(frozen=True)
class StepForm:
    """One step of the escalation as its fields: `to` is a team as `team:…`, or `managers`, empty for no step."""

    after: str = ""
    to: str = ""


def team_of(stage: StageForm) -> str:
    """The team that a stage names; empty for the agent's own."""
    return "" if stage.team == OWN else stage.team.removeprefix(TEAM)


def stage_forms(stages: Sequence[Stage]) -> tuple[StageForm, ...]:
    """The fields of a rule's stages."""
    return tuple(
        StageForm(f"{TEAM}{one.team}" if one.team is not None else OWN, str(one.approvals), one.together)
        for one in stages
    )


def step_forms(steps: Sequence[Escalation]) -> tuple[StepForm, ...]:
    """The fields of a rule's escalation."""
    return tuple(
        StepForm(duration_words(one.after_seconds), f"{TEAM}{one.team}" if one.team is not None else MANAGERS)
        for one in steps
    )


def stages_tree(team: str, approvals: str, more: Sequence[StageForm]) -> dict[str, Any]:
    """The stages as the policy's text has them: one that stands alone is `team` and `approvals`."""
    first = {"team": team} if team else {}
    if not more:
        return {**first, "approvals": whole(approvals)}
    trees: list[dict[str, Any]] = [{**first, "approvals": whole(approvals)}]
    for stage in more:
        tree: dict[str, Any] = {"approvals": whole(stage.approvals)}
        if stage.team != OWN:
            tree["team"] = stage.team.removeprefix(TEAM)
        if stage.together:
            tree["together"] = True
        trees.append(tree)
    return {"stages": trees}


def steps_tree(steps: Sequence[StepForm]) -> list[dict[str, Any]]:
    """The steps as the policy's text has them."""
    trees = []
    for step in steps:
        tree: dict[str, Any] = {"after_seconds": seconds_of(step.after)}
        if not step.to:
            tree["team"] = Unread("", "Choose whom to ask.")
        elif step.to == MANAGERS:
            tree["managers"] = True
        else:
            tree["team"] = step.to.removeprefix(TEAM)
        trees.append(tree)
    return trees


def read_stages(given: Mapping[str, Any], prefix: str) -> tuple[StageForm, ...]:
    """The stages of one rule as they were filled in, empty lines left out."""
    found = [
        StageForm(
            team=str(given.get(f"{prefix}s{at}-team", ""))[:300],
            approvals=str(given.get(f"{prefix}s{at}-approvals", "1"))[:20],
            together=bool(given.get(f"{prefix}s{at}-together")),
        )
        for at in range(MOST_STAGES)
    ]
    return tuple(one for one in found if one.team)


def read_steps(given: Mapping[str, Any], prefix: str) -> tuple[StepForm, ...]:
    """The steps of one rule as they were filled in, empty lines left out."""
    found = [
        StepForm(
            after=str(given.get(f"{prefix}e{at}-after", ""))[:40],
            to=str(given.get(f"{prefix}e{at}-to", ""))[:300],
        )
        for at in range(MOST_STEPS + 1)
    ]
    return tuple(one for one in found if one.to or one.after.strip())
