"""What is taken of the limits of a policy just now, for pages: one query, however many limits and agents there are."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import BigIntegerField, Case, Count, ExpressionWrapper, F, Q, Sum, Value, When

from reviewhub.accounts.permissions import Scope
from reviewhub.accounts.queries import agents_of
from reviewhub.core.clock import now
from reviewhub.limits.models import Reservation
from reviewhub.limits.rules import UNITS, said
from reviewhub.limits.weigh import HOLDS
from reviewhub.policies.limit import Limit

RESERVED = ("waiting", "allowed")
"""States of calls that hold their part and have not started."""
_WHOLE = ExpressionWrapper(F("units") / UNITS, output_field=BigIntegerField())
_REST = ExpressionWrapper(F("units") % UNITS, output_field=BigIntegerField())


@dataclass(frozen=True, kw_only=True)
class Use:
    """What calls have taken of one limit within its time, in millionths; of it `reserved` by those not yet started.

    `agent` is whose part it is; empty where all agents are counted together.
    """

    limit: Limit
    agent: str = ""
    taken: int = 0
    calls: int = 0
    reserved: int = 0
    reserved_calls: int = 0

    @property
    def percent(self) -> int:
        """How full it is; more than 100 where people let more run."""
        most = int(self.limit.maximum * UNITS)
        return self.taken * 100 // most if most else 100 * bool(self.taken)

    @property
    def taken_said(self) -> str:
        """As people write the number."""
        return said(self.taken)

    @property
    def reserved_said(self) -> str:
        """As people write the number."""
        return said(self.reserved)


@dataclass(frozen=True)
class Usage:
    """The use of the limits of one policy. An agent without a row has taken nothing."""

    rows: Mapping[tuple[str, uuid.UUID | None], Use] = field(default_factory=dict)

    def of(self, limit: Limit, agent_id: uuid.UUID) -> Use:
        """What counts against one agent: its own part, or that of all together."""
        key = (limit.name, agent_id if limit.per == "agent" else None)
        return self.rows.get(key) or Use(limit=limit)

    def by_limit(self, limit: Limit) -> list[Use]:
        """The parts of a limit that anything is taken of, the fullest first."""
        found = [use for (name, _), use in self.rows.items() if name == limit.name]
        return sorted(found, key=lambda use: (-use.taken, use.agent))


def usage(scope: Scope, limits: Sequence[Limit]) -> Usage:
    """What is taken of these limits of the policy in force within their time, of the agents that may be seen; what all
    agents have taken together is seen by everybody."""
    if not limits:
        return Usage()
    since = now()
    of_each = [
        Q(
            meter__limit=limit.name,
            meter__agent__isnull=limit.per == "all",
            at__gt=since - timedelta(seconds=limit.window_seconds),
        )
        for limit in limits
    ]
    rows = Reservation.objects.filter(HOLDS, meter__workspace_id=scope.workspace_id).filter(_any(of_each))
    if scope.team_ids is not None or scope.agent_id is not None:
        rows = rows.filter(Q(meter__agent__isnull=True) | Q(meter__agent__in=agents_of(scope).order_by()))
    waits = Case(When(tool_call__state__in=RESERVED, then=Value(value=True)), default=Value(value=False))
    groups = rows.annotate(waits=waits).values(
        "meter__limit", "meter__agent_id", "meter__agent__name", "waits"
    )
    # In two parts, as where calls are weighed, so that no sum is too large.
    found = groups.annotate(calls=Count("pk"), whole=Sum(_WHOLE), rest=Sum(_REST)).order_by()
    return Usage(_together(found, {limit.name: limit for limit in limits}))


def _any(given: Iterable[Q]) -> Q:
    found = Q()
    for one in given:
        found |= one
    return found


def _together(
    groups: Iterable[Mapping[str, Any]], limits: Mapping[str, Limit]
) -> dict[tuple[str, uuid.UUID | None], Use]:
    """A use for each limit and agent, from a group for what waits and one for what does not."""
    found: dict[tuple[str, uuid.UUID | None], Use] = {}
    for group in groups:
        key = (group["meter__limit"], group["meter__agent_id"])
        before = found.get(key) or Use(limit=limits[key[0]], agent=group["meter__agent__name"] or "")
        units, waits = int(group["whole"]) * UNITS + int(group["rest"]), group["waits"]
        found[key] = Use(
            limit=before.limit,
            agent=before.agent,
            taken=before.taken + units,
            calls=before.calls + group["calls"],
            reserved=before.reserved + (units if waits else 0),
            reserved_calls=before.reserved_calls + (group["calls"] if waits else 0),
        )
    return found
