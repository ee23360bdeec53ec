"""That policy failed on a call is an event of its own: an admin has to mend a rule, or an agent its arguments."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from reviewhub.audit.record import record
from reviewhub.core.actors import policy
from reviewhub.policies.kinds import PolicyUndecided
from reviewhub.toolcalls.models import ToolCall


def tell_undecided(
    *, call: ToolCall, undecided: Sequence[str], policy_version: int, request_id: uuid.UUID | None = None
) -> None:
    """Records, in the caller's transaction, what could not be evaluated on this call; nothing when all could."""
    if not undecided:
        return
    record(
        "policy.undecided",
        workspace_id=call.workspace_id,
        actor=policy(policy_version),
        run_id=call.run_id,
        pause_id=call.pause_id,
        request_id=request_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=PolicyUndecided(
            tool=call.tool_name,
            digest=call.digest,
            policy_version=policy_version,
            because="; ".join(undecided),
        ),
    )
