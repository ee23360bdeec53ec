"""What the record says about hosted runs."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("run.quarantined", says="The run was set aside after {attempts} attempts: {error}")
class RunQuarantined(Payload):
    """A branch failed too often, or cannot go on at all."""

    branch: str
    attempts: int
    error: str


@kind("run.retried", says="{actor} lets the run try again")
class RunRetried(Payload):
    """A branch that was set aside goes on."""

    branch: str
