"""What happens at gates, as audit events."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, counted, kind

DEEDS = {
    "reject": "rejected",
    "respond": "answered in place of",
    "deny": "denied",
    "expire": "ended",
    "withdraw": "withdrew",
    "cancel": "cancelled",
    "skip": "skipped",
}


def _for(number: int | None) -> str:
    return f" for #{number}" if number else ""


@kind(
    "pause.opened",
    says="{actor} paused with {calls_said}: {waiting} waiting, {allowed} allowed, {denied} denied",
)
class PauseOpened(Payload):
    calls: int
    waiting: int
    allowed: int
    denied: int
    checkpoint: str
    state_hash: str
    policy_version: int

    @property
    def calls_said(self) -> str:
        """How many, as words."""
        return counted(self.calls, "tool call")


@kind("branch.sleeping", says="{actor} has nothing to do before {until}")
class BranchSleeping(Payload):
    branch: str
    until: str


@kind("branch.awaiting", says="{actor} waits for {children_said}")
class BranchAwaiting(Payload):
    branch: str
    children: int

    @property
    def children_said(self) -> str:
        """How many, as words."""
        return counted(self.children, "child run")


@kind("call.allowed", says="Policy allowed {tool}: {because}")
class CallAllowed(Payload):
    tool: str
    digest: str
    because: str
    policy_version: int
    checkpoint: str = ""


@kind("call.denied", says="Policy denied {tool}: {because}")
class CallDenied(Payload):
    tool: str
    digest: str
    because: str
    policy_version: int
    checkpoint: str = ""


@kind("call.started", says="{actor} started {tool}{asked} (attempt {attempt})")
class CallStarted(Payload):
    tool: str
    digest: str
    attempt: int
    policy_version: int = 0
    number: int | None = None

    @property
    def asked(self) -> str:
        """The request that the call was last put before people by."""
        return _for(self.number)


@kind("call.ended", says="{tool}{asked} ended: {status}")
class CallEnded(Payload):
    tool: str
    digest: str
    status: str
    attempt: int
    outcome: str = ""
    number: int | None = None

    @property
    def asked(self) -> str:
        """The request that the call was last put before people by."""
        return _for(self.number)


@kind("call.observed", says="{actor} ran {tool} without waiting: {status}")
class CallObserved(Payload):
    tool: str
    digest: str
    status: str
    ran_without_approval: bool
    because: str
    policy_version: int = 0
    checkpoint: str = ""


@kind("call.unknown", says="Nobody knows whether {tool} happened: {because}")
class CallUnknown(Payload):
    tool: str
    digest: str
    because: str


@kind("call.late_outcome", says="{actor} reported {status} for {tool} after it was settled")
class CallLateOutcome(Payload):
    tool: str
    digest: str
    status: str
    state: str


@kind("call.asked_again", says="{tool} needs an answer again: {because}")
class CallAskedAgain(Payload):
    tool: str
    digest: str
    because: str


@kind("call.cancelled", says="{tool} may not run any more: {actor} {deed} it")
class CallCancelled(Payload):
    tool: str
    digest: str
    type: str

    @property
    def deed(self) -> str:
        """What was done to it."""
        return DEEDS.get(self.type, "ended")


@kind("run.cancelled", says="{actor} cancelled the run: {reason}")
class RunCancelled(Payload):
    reason: str


@kind("run.finished", says="{actor} finished the run")
class RunFinished(Payload):
    branch: str


@kind("run.failed", says="{actor} ended the run as failed: {error}")
class RunFailed(Payload):
    branch: str
    error: str


@kind("branch.superseded", says="{actor} rewrote the run: {reason}")
class BranchSuperseded(Payload):
    old: str
    new: str
    checkpoint: str
    reason: str


@kind("agent.stopped", says="{actor} stopped {agent}: {runs_said} cancelled")
class AgentStopped(Payload):
    agent: str
    runs: int

    @property
    def runs_said(self) -> str:
        """How many, as words."""
        return counted(self.runs, "run")


@kind("agent.started", says="{actor} lets {agent} work again")
class AgentStarted(Payload):
    agent: str


@kind("run.limits_set", says="{actor} set the limits of the run: {limits}; {reason}")
class LimitsSet(Payload):
    """What a run may spend, in millionths, and how long it may work; 0 is no limit."""

    spend_micros: int
    seconds: int
    reason: str

    @property
    def limits(self) -> str:
        """Both, as words."""
        spend = f"{self.spend_micros / 1_000_000:,.2f} to spend" if self.spend_micros else "any spending"
        return f"{spend}, {f'{self.seconds} s' if self.seconds else 'any time'} to work"
