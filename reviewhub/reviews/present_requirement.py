"""The sign-off that a call needs, in the words of the contract."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from reviewhub_agents import wire

from reviewhub.policies.requirement import Requirement
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import Tally, tally
from reviewhub.reviews.vote import votes_of


def requirement_out(needed: Requirement) -> wire.RequirementOut:
    """What policy asks for, of a call that nobody was asked about yet."""
    return wire.RequirementOut(**_fields(needed), stages=[wire.StageOut(**one) for one in _stages(needed)])


def requirement_of(row: ReviewRequest, stored: Stored) -> wire.RequirementOut:
    """What a request needs, and how far it has come."""
    needed = stored.requirement
    found = tally(needed, votes_of(row), version=row.version)
    names = dict(row.reviews.values_list("member_id", "name"))
    stages = _stages(needed)
    for at, stage in enumerate(stages):
        stage |= {
            "approved_by": [names[member] for member in found.stages[at]],
            "asked": _is_asked(needed, found, at),
        }
    return wire.RequirementOut(
        **_fields(needed, taken=row.escalated), stages=[wire.StageOut(**one) for one in stages]
    )


def _is_asked(needed: Requirement, found: Tally, at: int) -> bool:
    return needed.turns[at] == found.turn and len(found.stages[at]) < needed.stages[at].approvals


def _stages(needed: Requirement) -> list[dict[str, Any]]:
    return [
        {"team": stage.team, "approvals": stage.approvals, "together": stage.together}
        for stage in needed.stages
    ]


def _fields(needed: Requirement, taken: int = 0) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "team": needed.team,
        "approvals": needed.approvals,
        "denials": needed.deny_threshold,
        "on_timeout": needed.on_timeout,
        "four_eyes": needed.four_eyes,
        "locked_fields": list(needed.locked_fields),
        "typed_confirmation": needed.typed_confirmation,
        "escalation": [
            wire.EscalationOut(
                after=timedelta(seconds=step.after_seconds),
                to=step.to,
                managers=step.managers,
                taken=at < taken,
            )
            for at, step in enumerate(needed.escalation)
        ],
    }
    if needed.sign_in_minutes is not None:
        fields["sign_in_minutes"] = needed.sign_in_minutes
    for name, seconds in (("deadline", needed.deadline_seconds), ("reminder", needed.remind_seconds)):
        if seconds is not None:
            fields[name] = timedelta(seconds=seconds)
    return fields
