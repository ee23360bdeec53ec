"""A verifier in an agent's own code, a function or another model, has judged a call."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.plans.queries import in_force
from reviewhub.toolcalls.locks import lock_call
from reviewhub.toolcalls.models import ToolCall
from reviewhub.verdicts.kinds import VerdictGiven
from reviewhub.verdicts.models import Verdict


def give(*, call_id: uuid.UUID, body: wire.VerdictBody, actor: Actor) -> Verdict:
    """Writes the verdict down, whatever became of the branch; the first one of a name stays.

    Raises:
        NotAnyMore, AgentStopped: the key was revoked, or the agent stopped, since the request came in.
    """
    with transaction.atomic():
        locked = lock_call(call_id)
        call = locked.call
        still_may(actor, Action.RUN_WRITE, Target(workspace_id=call.workspace_id, agent_id=call.agent_id))
        version = in_force(locked.branch.pk)
        row, is_new = Verdict.objects.get_or_create(
            tool_call=call,
            name=body.name,
            judges=body.judges,
            defaults={
                "workspace_id": call.workspace_id,
                "run_id": call.run_id,
                "branch": locked.branch,
                "plan": version.number if version else 0,
                "source": body.source,
                "status": body.status,
                "detail": body.detail,
                "contradicts": body.contradicts,
                "ended_at": clock.now(),
            },
        )
        if is_new:
            record_verdict(row, call, actor)
    return row


def record_verdict(row: Verdict, call: ToolCall, actor: Actor) -> None:
    """The event of a verdict that is not pending."""
    record(
        "verdict.given",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        pause_id=call.pause_id,
        agent_id=call.agent_id,
        subject_id=row.pk,
        data=VerdictGiven(
            name=row.name,
            source=row.source,
            judges=row.judges,
            tool=call.tool_name,
            status=row.status,
            contradicts=row.contradicts,
        ),
    )
