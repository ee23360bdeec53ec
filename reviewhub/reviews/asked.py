"""From policy's answer to what people are asked: a pure step between `policies` and `reviews.request`."""

from __future__ import annotations

import uuid

from reviewhub.accounts.models import Agent
from reviewhub.policies.evaluate import Resolved
from reviewhub.policies.rules import Requirement
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.request import RANK, Asked
from reviewhub.reviews.requirement import Stored
from reviewhub.tools.models import Tool
from reviewhub.tools.shown import Shown


def approval(
    *,
    answer: Resolved,
    tool: Tool,
    effect: str,
    shown: Shown,
    failed_checks: int = 0,
    repeats: tuple[uuid.UUID, ...] = (),
) -> Asked:
    """What is asked about a call that policy holds; `repeats` are equal calls that acted on other branches."""
    needed = answer.requirement
    if needed is None or not answer.team_ids:
        raise ValueError("only a held call is put before people")
    stored = Stored(
        requirement=needed,
        teams=answer.team_ids,
        step_teams=answer.step_ids,
        policy_version=answer.policy_version,
        rule=answer.rule or "",
        text=answer.text,
    )
    return Asked(
        stored=stored,
        sentence=shown.sentence,
        risk=risk(tool=tool, effect=effect, failed_checks=failed_checks),
        failed_checks=failed_checks,
        repeats=repeats,
        arguments=shown.text,
        undecided=answer.undecided,
    )


def unknown_outcome(
    *,
    agent: Agent,
    tool: Tool,
    effect: str,
    shown: Shown,
    because: str,
    approved_on: Requirement | None,
    was_let_run: bool,
) -> Asked:
    """What is asked about a call of unknown outcome: one person of the agent's team says what happened.

    Args:
        approved_on: what its approval asked for, if people gave it. Whoever lets it run again needs no less care.
        was_let_run: whether policy or people had let it run; if nobody had, nobody does by saying what happened.
    """
    needed = Requirement.of_own_team(agent.team.name)
    if approved_on is not None:
        kept = {name: getattr(approved_on, name) for name in ("four_eyes", "sign_in_minutes")}
        needed = needed.model_copy(update=kept)
    stored = Stored(requirement=needed, teams=(agent.team_id,), text=because, was_let_run=was_let_run)
    return Asked(
        stored=stored,
        sentence=shown.sentence,
        risk=risk(tool=tool, effect=effect, failed_checks=0),
        kind=ReviewRequest.Kind.UNKNOWN,
        arguments=shown.text,
    )


def risk(*, tool: Tool, effect: str, failed_checks: int) -> str:
    """The admins' risk of the tool, or the effect's default; a failed check raises it by one."""
    levels = list(RANK)
    rank = RANK[tool.effective_risk]
    if not tool.risk:
        rank = max(rank, {"read": 0, "idempotent": 1, "once": 2}[effect])
    return levels[min(rank + (failed_checks > 0), len(levels) - 1)]
