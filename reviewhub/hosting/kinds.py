"""What the record says about hosted runs."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("run.retried", says="{actor} lets the run try again")
class RunRetried(Payload):
    """A branch that was set aside goes on."""

    branch: str
