"""Tells the managers of a workspace, once for each call, that something ran although policy would have held it."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta, tzinfo

from django.conf import settings
from django.db import transaction

from reviewhub.accounts.models import Member, Role, Workspace
from reviewhub.accounts.zone import addresses_by_zone
from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM
from reviewhub.core.clock import now
from reviewhub.core.display import moments
from reviewhub.core.sweeps import each
from reviewhub.deliveries.queue_email import queue_email
from reviewhub.insights.kinds import AlarmRaised
from reviewhub.insights.models import Alarm
from reviewhub.toolcalls.models import ToolCall

LOOKS_BACK = timedelta(days=2)
MOST = 500
"""Calls in one alarm."""
NAMED = 10


def raise_alarms() -> int:
    """One e-mail to each manager and admin of a workspace about all new ones; of how many calls that was."""
    rows = ToolCall.objects.filter(ran_without_approval=True, created_at__gte=now() - LOOKS_BACK)
    untold = rows.exclude(pk__in=Alarm.objects.filter(raised_at__gte=now() - 2 * LOOKS_BACK).values("pk"))
    by_workspace: dict[uuid.UUID, list[ToolCall]] = defaultdict(list)
    for call in untold.select_related("agent").order_by("created_at", "id")[:MOST]:
        by_workspace[call.workspace_id].append(call)
    return each(lambda workspace_id: _raise(workspace_id, by_workspace[workspace_id]), list(by_workspace))


@transaction.atomic
def _raise(workspace_id: uuid.UUID, calls: Sequence[ToolCall]) -> int:
    # Of two workers that found the same calls, the second waits here, and then finds that they were told of.
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
    known = set(Alarm.objects.filter(pk__in=[call.pk for call in calls]).values_list("pk", flat=True))
    calls = [call for call in calls if call.pk not in known]
    if not calls:
        return 0
    Alarm.objects.bulk_create([Alarm(tool_call=call, raised_at=now()) for call in calls])
    told = Member.objects.filter(
        workspace=workspace, is_active=True, role__in=[Role.MANAGER, Role.ADMIN], person__is_active=True
    )
    for zone, addresses in addresses_by_zone(told.select_related("person")):
        subject, body = _mail(workspace, calls, zone)
        queue_email(workspace=workspace, to=addresses, subject=subject, body=body)
    record(
        "alarm.raised",
        workspace_id=workspace_id,
        actor=SYSTEM,
        run_id=calls[0].run_id,
        agent_id=calls[0].agent_id,
        subject_id=calls[0].pk,
        data=AlarmRaised(calls=len(calls), tool=calls[0].tool_name),
    )
    return len(calls)


def _mail(workspace: Workspace, calls: Sequence[ToolCall], zone: tzinfo) -> tuple[str, str]:
    """Subject and text, with times in `zone`; without arguments: a mailbox is no place for secrets."""
    many = f"{len(calls)} calls" if len(calls) > 1 else "A call"
    lines = [
        f"    {moments.said(call.created_at, zone)}: {call.tool_name}, agent {call.agent.name}\n"
        f"    {settings.PUBLIC_URL}/{workspace.slug}/runs/{call.run_id}"
        for call in calls[:NAMED]
    ]
    left = len(calls) - NAMED
    more = f"\n\nand {left} more" if left > 0 else ""
    body = (
        f"{many} ran without the approval that the policy in force asks for. The agent said so afterwards:\n\n"
        + "\n\n".join(lines)
        + f"{more}\n\n{settings.PUBLIC_URL}/{workspace.slug}/insights\n"
    )
    return f"{many} ran without approval", body
