"""What the record says about standing approvals."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("standing.made", says="{actor} approved {tool} and let it stand for calls like #{number} {bounds}")
class StandingMade(Payload):
    """A request was approved and remembered. `bounds` is what it covers, in words."""

    number: int
    tool: str
    schema_fingerprint: str
    digest: str
    bounds: str
    until: str
    max_uses: int | None


@kind("standing.used", says="The standing approval #{number} of {owner} let {tool} run (use {use})")
class StandingUsed(Payload):
    """A call ran by it: the one whose event this is."""

    number: int
    tool: str
    digest: str
    owner: str
    use: int


@kind(
    "standing.revoked", says="{actor} revoked the standing approval #{number} of {owner} for {tool}: {reason}"
)
class StandingRevoked(Payload):
    """It lets nothing run any more, also no call that it allowed and that has not started."""

    number: int
    tool: str
    owner: str
    uses: int
    reason: str
