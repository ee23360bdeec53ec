"""What the record says about policies."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("policy.published", says="{actor} published policy v{number}: {note}")
class PolicyPublished(Payload):
    """A new policy is in force. `digest` is the hash of its canonical rules."""

    number: int
    base: int
    note: str
    digest: str
    rules: int


@kind(
    "policy.undecided",
    says="Policy v{policy_version} could not be decided on {tool}, so people are asked: {because}",
)
class PolicyUndecided(Payload):
    """A rule failed on a call, or the policy could not be read. `because` names each part that failed."""

    tool: str
    digest: str
    policy_version: int
    because: str
