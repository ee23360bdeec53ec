"""A standing approval lets a call run: counted by a guarded write, on a row and on record."""

from __future__ import annotations

from django.db.models import F

from reviewhub.audit.record import record
from reviewhub.core.actors import policy
from reviewhub.core.errors import StaleState
from reviewhub.standing.kinds import StandingUsed
from reviewhub.standing.models import StandingApproval, StandingUse
from reviewhub.standing.queries import IN_FORCE
from reviewhub.toolcalls.models import ToolCall


def use(*, standing: StandingApproval, call: ToolCall) -> StandingUse:
    """Counts one use, in the transaction that lets the call run. A call that does not run after all stays counted.

    Raises:
        StaleState: it was revoked, is over or used up by now.
    """
    rows = StandingApproval.objects.filter(IN_FORCE, pk=standing.pk)
    if rows.update(uses=F("uses") + 1) != 1:
        raise StaleState
    number = StandingApproval.objects.values_list("uses", flat=True).get(pk=standing.pk)
    used = StandingUse.objects.create(standing=standing, tool_call=call, number=number)
    record(
        "standing.used",
        workspace_id=call.workspace_id,
        actor=policy(call.policy_version),
        run_id=call.run_id,
        pause_id=call.pause_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=StandingUsed(
            number=standing.request_number,
            tool=call.tool_name,
            digest=call.digest,
            owner=standing.owner_name,
            use=number,
        ),
    )
    return used
