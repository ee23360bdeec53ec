"""Tells the managers of a workspace that something ran although policy would have held it.

Calls of one tool of one agent are one alarm: whoever was told of it is not written to again for each call of a day.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo

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
from reviewhub.reviews.draw import alarming
from reviewhub.toolcalls.models import ToolCall

LOOKS_BACK = timedelta(days=2)
QUIET = timedelta(days=1)
"""For so long after an e-mail further calls of the same tool of the same agent belong to the same alarm."""
MOST = 500
"""Calls in one alarm."""
NAMED = 10
Pair = tuple[uuid.UUID, str]
"""An agent, and the name of a tool."""


def raise_alarms() -> int:
    """One e-mail to each manager and admin of a workspace about all new alarms; of how many calls that was."""
    rows = alarming(ToolCall.objects.filter(created_at__gte=now() - LOOKS_BACK))
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
    told, at = _told_of(workspace_id), now()
    Alarm.objects.bulk_create(
        [Alarm(tool_call=call, raised_at=told.get((call.agent_id, call.tool_name), at)) for call in calls]
    )
    new: dict[Pair, list[ToolCall]] = defaultdict(list)
    for call in calls:
        if (call.agent_id, call.tool_name) not in told:
            new[call.agent_id, call.tool_name].append(call)
    if new:
        _tell(workspace, new)
    return len(calls)


def _told_of(workspace_id: uuid.UUID) -> dict[Pair, datetime]:
    """The alarms that managers were told of not long ago, and when."""
    rows = Alarm.objects.filter(raised_at__gte=now() - QUIET, tool_call__workspace_id=workspace_id)
    found = rows.order_by("raised_at").values_list("tool_call__agent_id", "tool_call__tool_name", "raised_at")
    return {(agent, tool): raised_at for agent, tool, raised_at in found.distinct()}


def _tell(workspace: Workspace, alarms: Mapping[Pair, Sequence[ToolCall]]) -> None:
    told = Member.objects.filter(
        workspace=workspace, is_active=True, role__in=[Role.MANAGER, Role.ADMIN], person__is_active=True
    )
    for zone, addresses in addresses_by_zone(told.select_related("person")):
        subject, body = _mail(workspace, list(alarms.values()), zone)
        queue_email(workspace=workspace, to=addresses, subject=subject, body=body)
    first = next(iter(alarms.values()))[0]
    record(
        "alarm.raised",
        workspace_id=workspace.pk,
        actor=SYSTEM,
        run_id=first.run_id,
        agent_id=first.agent_id,
        subject_id=first.pk,
        data=AlarmRaised(calls=sum(len(calls) for calls in alarms.values()), tool=first.tool_name),
    )


def _mail(workspace: Workspace, alarms: Sequence[Sequence[ToolCall]], zone: tzinfo) -> tuple[str, str]:
    """Subject and text, with times in `zone`; without arguments: a mailbox is no place for secrets."""
    many = sum(len(calls) for calls in alarms)
    said = f"{many} calls" if many > 1 else "A call"
    lines = [
        f"    {moments.said(calls[0].created_at, zone)}: {calls[0].tool_name}, agent {calls[0].agent.name}"
        + (f", {len(calls)} calls, the first" if len(calls) > 1 else "")
        + f"\n    {settings.PUBLIC_URL}/{workspace.slug}/runs/{calls[0].run_id}"
        for calls in alarms[:NAMED]
    ]
    left = len(alarms) - NAMED
    more = f"\n\nand {left} more" if left > 0 else ""
    body = (
        f"{said} ran without the approval that the policy in force asks for. The agent said so afterwards:\n\n"
        + "\n\n".join(lines)
        + f"{more}\n\nFor a day nobody is written to about further calls of these tools by these agents; they are in\n"
        + f"{settings.PUBLIC_URL}/{workspace.slug}/post-review\n"
    )
    return f"{said} ran without approval", body
