"""What the record says about plans. How far a step is is no event: the mark itself is the record of it."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("plan.changed", says="{actor} wrote version {version} of the plan of {branch}: {because}")
class PlanChanged(Payload):
    """`base` is the version it was made from, 0 for none."""

    branch: str
    version: int
    base: int
    steps: int
    because: str


@kind(
    "plan.restored",
    says="{actor} restored version {restored} of the plan on {branch} as version {version}: {reason}",
)
class PlanRestored(Payload):
    """`base` is the version that was in force until then, 0 for none."""

    branch: str
    version: int
    base: int
    restored: int
    reason: str
