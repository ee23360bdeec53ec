"""What the record says about hosted runs."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("run.retried", says="{actor} lets the run try again{why}")
class RunRetried(Payload):
    """A branch that was set aside goes on."""

    branch: str
    reason: str = ""

    @property
    def why(self) -> str:
        """The reason, if one was given: it is asked for since it can be."""
        return f": {self.reason}" if self.reason else ""
