"""States of pauses, tool calls and grants, and where each may go."""

from __future__ import annotations

from django.db.models import TextChoices

from reviewhub.core.transitions import Edges


class PauseState(TextChoices):
    WAITING = "waiting"
    SETTLED = "settled"


class CallState(TextChoices):
    PROPOSED = "proposed"
    WAITING = "waiting"
    ALLOWED = "allowed"
    DENIED = "denied"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


class GrantState(TextChoices):
    OPEN = "open"
    CONSUMED = "consumed"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Mode(TextChoices):
    GATED = "gated"
    OBSERVED = "observed"


class DecisionType(TextChoices):
    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    RESPOND = "respond"
    DENY = "deny"
    EXPIRE = "expire"
    WITHDRAW = "withdraw"
    CANCEL = "cancel"
    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    SKIP = "skip"


PAUSE_EDGES: Edges = {
    "waiting": frozenset({"settled"}),
    "settled": frozenset({"waiting"}),  # asked again
}
CALL_EDGES: Edges = {
    "proposed": frozenset({"waiting", "allowed", "denied", "started", "succeeded", "failed", "unknown"}),
    # succeeded (also of allowed): a person said that it did not happen, and then the tool says that it did
    "waiting": frozenset({"allowed", "denied", "skipped", "succeeded"}),
    # waiting: asked again; denied: policy says no by now; skipped: withdrawn or cancelled before it was used
    "allowed": frozenset({"started", "waiting", "denied", "skipped", "succeeded"}),
    "denied": frozenset(),
    "started": frozenset({"succeeded", "failed", "unknown"}),
    "succeeded": frozenset(),
    # started: a new attempt of a read or idempotent call; waiting, denied: policy is stricter when it is to begin
    "failed": frozenset({"started", "waiting", "denied"}),
    # By a person (happened, did_not_happen, skip), or by a late outcome of the tool itself.
    "unknown": frozenset({"succeeded", "failed", "allowed", "skipped"}),
    "skipped": frozenset(),
}
GRANT_EDGES: Edges = {
    "open": frozenset({"consumed", "expired", "revoked"}),
    "consumed": frozenset(),
    "expired": frozenset(),
    "revoked": frozenset(),
}
TABLES = ((PauseState, PAUSE_EDGES), (CallState, CALL_EDGES), (GrantState, GRANT_EDGES))
