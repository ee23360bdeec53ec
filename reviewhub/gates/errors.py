"""Why an agent may not go on."""

from __future__ import annotations

from reviewhub.core.errors import Conflict


class BranchPaused(Conflict):
    """This branch waits at a pause; it cannot open another one."""

    code = "branch_paused"


class NoSuchChild(Conflict):
    """The branch has started no child run under this key."""

    code = "no_such_child"


class NotAllowed(Conflict):
    """This tool call is not allowed to run (now)."""

    code = "not_allowed"


class ApprovalNeeded(Conflict):
    """Policy asks for an approval of this; pause for it with the tool and arguments that are named here."""

    code = "approval_needed"


class AlreadyConsumed(Conflict):
    """The grant of this tool call was used; the call must not run twice."""

    code = "already_consumed"


class DigestMismatch(Conflict):
    """The digest is not that of the call that was allowed."""

    code = "digest_mismatch"


class GrantExpired(Conflict):
    """The grant expired before it was used; people are asked again."""

    code = "grant_expired"


class FactsChanged(Conflict):
    """The facts that were declared have changed; people are asked again."""

    code = "facts_changed"


class PolicyChanged(Conflict):
    """Policy became stricter before the grant was used."""

    code = "policy_changed"


class NotConsumed(Conflict):
    """This call was never started, so it can have no outcome."""

    code = "not_consumed"


class OutcomeConflict(Conflict):
    """Another outcome is on record for this call."""

    code = "outcome_conflict"


class EndingConflict(Conflict):
    """This branch has ended already, with another result, error or state."""

    code = "ending_conflict"


class Unsettled(Conflict):
    """Calls of this branch wait, run, or have an unknown outcome."""

    code = "unsettled"
