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
