"""Verdicts on record."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("verdict.given", says="{name} ({source}) judged the {judges} of {tool}: {status}")
class VerdictGiven(Payload):
    """`source` is function, model or webhook; `status` passed, failed, error or timed_out."""

    name: str
    source: str
    judges: str
    tool: str
    status: str
    contradicts: str


@kind("plan.asked", says="{actor} asked for another plan than version {version} on {branch}: {reason}")
class PlanAsked(Payload):
    branch: str
    version: int
    reason: str
