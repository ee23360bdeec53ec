"""What the record says about runs."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, counted, kind


@kind("run.started", says="{actor} started the run {title}")
class RunStarted(Payload):
    """A run began."""

    title: str
    external_id: str
    environment: str
    on_behalf_of: str
    parent: str | None


@kind("run.ended", says="The run {title} ended: {state}")
class RunEnded(Payload):
    """No branch of the run is open any more."""

    title: str
    state: str


@kind("run.reopened", says="The run {title} goes on: {state}")
class RunReopened(Payload):
    """An ended run has an open branch again, because somebody forked or retried it."""

    title: str
    state: str


@kind("run.halted", says="{actor} halted the run: {reason}")
class RunHalted(Payload):
    """Nothing starts for a branch until somebody resumes it."""

    branch: str
    cause: str
    reason: str


@kind("run.resumed", says="{actor} resumed the run: {reason}")
class RunResumed(Payload):
    """A branch that was halted goes on."""

    branch: str
    reason: str


@kind("run.quarantined", says="The run was set aside{after}: {error}")
class RunQuarantined(Payload):
    """A branch failed too often, cannot go on at all, or stands on a damaged checkpoint."""

    branch: str
    attempts: int
    error: str

    @property
    def after(self) -> str:
        """How often it was tried, as words; nothing when trying was not the question."""
        return f" after {counted(self.attempts, 'attempt')}" if self.attempts else ""
