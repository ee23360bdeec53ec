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
    restores: int | None = None


@kind("policy.draft_saved", says="{actor} saved a draft of policy v{number}")
class DraftSaved(Payload):
    """A policy that is not in force, to be tried and looked at. `digest` is the hash of its canonical rules."""

    number: int
    digest: str
    note: str


@kind("policy.draft_discarded", says="{actor} discarded a draft of policy v{number}")
class DraftDiscarded(Payload):
    number: int


@kind("policy.shadow_started", says="{actor} put a draft of policy v{number} in shadow")
class ShadowStarted(Payload):
    """From now on it is asked beside the policy in force at every pause, and changes nothing."""

    number: int


@kind("policy.shadow_stopped", says="{actor} took the draft of policy v{number} out of shadow")
class ShadowStopped(Payload):
    number: int


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
