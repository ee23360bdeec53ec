"""What calls on record would have taken of a limit that nothing is counted on yet."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db.models import F, Q

from reviewhub.accounts.models import Agent
from reviewhub.limits.rules import HOLDING, units_of
from reviewhub.policies.arguments import Arguments
from reviewhub.policies.limit import Limit
from reviewhub.toolcalls.models import CallVersion, ToolCall

MOST = 2000
"""So many of the newest calls are looked at."""


def used_on_record(limit: Limit, *, agent: Agent, at: datetime, apart_from: uuid.UUID | None = None) -> int:
    """In millionths, as if the limit had been there all the time; calls that cannot be counted take nothing."""
    rows = ToolCall.objects.filter(
        Q(state__in=HOLDING) | Q(partial__isnull=False),
        workspace_id=agent.workspace_id,
        created_at__gt=at - timedelta(seconds=limit.window_seconds),
        created_at__lte=at,
    )
    if apart_from is not None:
        rows = rows.exclude(pk=apart_from)
    if limit.per == "agent":
        rows = rows.filter(agent=agent)
    fields = ("id", "tool_name", "agent__name", "agent__team__name", "run__environment")
    ids = [
        row[0]
        for row in rows.order_by("-created_at").values_list(*fields)[:MOST]
        if limit.is_about(tool=row[1], agent=row[2], agent_team=row[3], environment=row[4])
    ]
    texts: dict[uuid.UUID, str] = {}
    if limit.sum_of is not None:
        versions = CallVersion.objects.filter(tool_call_id__in=ids, version=F("tool_call__version"))
        texts = dict(versions.values_list("tool_call_id", "arguments"))
    found = (units_of(limit, Arguments(texts.get(one, "{}"))) for one in ids)
    return sum(units for units in found if isinstance(units, int))
