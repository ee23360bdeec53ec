"""Calls are weighed against the limits of the policy in force, and take their part: locked, in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.db.models import BigIntegerField, ExpressionWrapper, F, Q, Sum

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.limits import rules
from reviewhub.limits.models import Meter, Reservation
from reviewhub.limits.recorded import used_on_record
from reviewhub.limits.rules import HOLDING, UNITS, Weighed
from reviewhub.policies.evaluate import CallFacts, Resolved, as_of, call_of, resolve, team_ids
from reviewhub.policies.limit import Limit
from reviewhub.policies.rules import Call, Policy, tighten
from reviewhub.toolcalls.models import ToolCall

HOLDS = Q(tool_call__state__in=HOLDING) | Q(tool_call__partial__isnull=False)


@dataclass(frozen=True)
class Weighing:
    """The answer to a call with what limits make of it, and what the call takes of each meter: now, where it is within
    the limit (`within`), and once it starts."""

    answer: Resolved
    within: tuple[tuple[Meter, int], ...] = ()
    started: tuple[tuple[Meter, int], ...] = ()
    weighed: tuple[Weighed, ...] = ()


@dataclass
class _Scale:
    """The meters of some calls, with what is taken of each; `again` is the call that was weighed before. `on_record`:
    a limit without a meter is counted on the calls that there were."""

    agent: Agent
    at: datetime
    meters: dict[tuple[str, uuid.UUID | None], Meter]
    again: uuid.UUID | None = None
    on_record: bool = False
    used: dict[tuple[str, uuid.UUID | None], int] = field(default_factory=dict)

    def used_of(self, limit: Limit) -> int:
        """What others took within the time of a limit."""
        key = _key(limit, self.agent)
        if key not in self.used:
            meter = self.meters.get(key)
            since = self.at - timedelta(seconds=limit.window_seconds)
            if meter is not None:
                self.used[key] = taken(meter, since=since, apart_from=self.again)
            elif self.on_record:
                self.used[key] = used_on_record(limit, agent=self.agent, at=self.at, apart_from=self.again)
            else:
                self.used[key] = 0
        return self.used[key]

    def has(self, limit: Limit, units: int) -> bool:
        """Whether the call took at least so much within the time of a limit: others were weighed with that.

        What it took when the limit said something else is weighed again.
        """
        meter = self.meters.get(_key(limit, self.agent))
        if self.again is None or meter is None or not self._was_so(limit, self.again):
            return False
        since = self.at - timedelta(seconds=limit.window_seconds)
        own = Reservation.objects.filter(
            HOLDS, meter=meter, tool_call=self.again, at__gt=since, units__gte=units
        )
        return own.exists()

    def _was_so(self, limit: Limit, call_id: uuid.UUID) -> bool:
        """Whether the policy that answered the call had this very limit."""
        number = ToolCall.objects.values_list("policy_version", flat=True).get(pk=call_id)
        policy = as_of(self.agent.workspace_id, number).policy
        return policy is not None and limit in policy.limits

    def takes(self, found: Sequence[Weighed]) -> tuple[tuple[Meter, int], ...]:
        """What a call takes of the meters that are there."""
        pairs = [(self.meters.get(_key(one.limit, self.agent)), one.units) for one in found]
        return tuple((meter, units) for meter, units in pairs if meter is not None)

    def add(self, limit: Limit, units: int) -> None:
        """The call takes so much."""
        self.used[_key(limit, self.agent)] += units


def weigh(
    *,
    agent: Agent,
    environment: str,
    calls: Sequence[tuple[CallFacts, Resolved]],
    policy: Policy | None,
    again: uuid.UUID | None = None,
) -> list[Weighing]:
    """The answers to calls of one agent, tightened where a limit would be passed; the calls count one after another.

    Locks the meters, in one order, until the caller's transaction ends: nobody else reserves on them meanwhile.

    Args:
        policy: the one in force.
        again: the id of the one call, which was weighed before: what it took does not count against it.
    """
    if policy is None or not policy.limits:
        return [Weighing(answer) for _, answer in calls]
    asked = [call_of(facts, agent=agent, environment=environment, tools=frozenset()) for facts, _ in calls]
    concerned = [
        rules.about(policy.limits, call) if answer.action != "deny" else []
        for call, (_, answer) in zip(asked, calls, strict=True)
    ]
    meters = _locked(agent, [limit for limits in concerned for limit in limits])
    scale = _Scale(agent, now(), meters, again)
    return [
        _weighing(scale, call, limits, answer)
        for call, limits, (_, answer) in zip(asked, concerned, calls, strict=True)
    ]


def look(
    *,
    policy: Policy | None,
    agent: Agent,
    call: Call,
    answer: Resolved,
    again: uuid.UUID | None = None,
    on_record: bool = False,
) -> Weighing:
    """What the limits of a policy would make of a call just now; nothing is taken or locked.

    Args:
        again: the id of a call that was weighed: what it took does not count against it.
        on_record: a limit that nothing is counted on yet is taken as if it had been there all the time.
    """
    limits = rules.about(policy.limits, call) if policy is not None and answer.action != "deny" else []
    scale = _Scale(agent, now(), _meters(agent, limits), again, on_record)
    return _weighing(scale, call, limits, answer)


def reserve(*, call: ToolCall, takes: Sequence[tuple[Meter, int]], at: datetime) -> None:
    """Writes down what a call takes, in the transaction in which it was weighed; instead of what it took before."""
    Reservation.objects.filter(tool_call=call).exclude(meter__in=[meter for meter, _ in takes]).delete()
    Reservation.objects.bulk_create(
        [Reservation(meter=meter, tool_call=call, units=units, at=at) for meter, units in takes],
        update_conflicts=True,
        unique_fields=["meter", "tool_call"],
        update_fields=["units", "at"],
    )


def taken(meter: Meter, *, since: datetime, apart_from: uuid.UUID | None = None) -> int:
    """What is taken of a meter since a time, in millionths. Added up in two parts, so that no sum is too large."""
    rows = Reservation.objects.filter(HOLDS, meter=meter, at__gt=since)
    if apart_from is not None:
        rows = rows.exclude(tool_call_id=apart_from)
    whole = ExpressionWrapper(F("units") / UNITS, output_field=BigIntegerField())
    rest = ExpressionWrapper(F("units") % UNITS, output_field=BigIntegerField())
    found = rows.aggregate(whole=Sum(whole, default=0), rest=Sum(rest, default=0))
    return int(found["whole"]) * UNITS + int(found["rest"])


def _weighing(scale: _Scale, call: Call, limits: Sequence[Limit], answer: Resolved) -> Weighing:
    found = [rules.weighed(limit, call, used=scale.used_of(limit)) for limit in limits]
    passed = [one for one in found if one.why and not (one.is_countable and scale.has(one.limit, one.units))]
    answer = tightened(answer, passed, scale.agent, call)
    if answer.action == "deny":
        return Weighing(answer, weighed=tuple(found))
    within = [one for one in found if one not in passed]
    for one in within:
        scale.add(one.limit, one.units)
    return Weighing(answer, scale.takes(within), scale.takes(found), tuple(found))


def tightened(answer: Resolved, passed: Sequence[Weighed], agent: Agent, call: Call) -> Resolved:
    """The answer with all that the limits which a call passes ask for."""
    if not passed or answer.action == "deny":
        return answer
    because = "; ".join(one.why for one in passed)
    stricter = tighten(answer, [rules.asks(one) for one in passed], call, layer="limit", because=because)
    teams = team_ids(agent.workspace_id, [stricter], agent=agent)
    resolved = resolve(stricter, number=answer.policy_version, agent=agent, teams=teams)
    return replace(resolved, then=answer.then)


def _meters(
    agent: Agent, limits: Sequence[Limit], *, to_use: bool = False
) -> dict[tuple[str, uuid.UUID | None], Meter]:
    rows = Meter.objects.filter(workspace_id=agent.workspace_id, limit__in={limit.name for limit in limits})
    rows = rows.filter(Q(agent__isnull=True) | Q(agent=agent)).order_by("pk")
    if to_use:
        rows = rows.select_for_update(no_key=True)
    return {(row.limit, row.agent_id): row for row in rows}


def _locked(agent: Agent, limits: Sequence[Limit]) -> dict[tuple[str, uuid.UUID | None], Meter]:
    keys = {_key(limit, agent) for limit in limits}
    if not keys:
        return {}
    if missing := sorted(keys - set(_meters(agent, limits)), key=str):
        made = [Meter(workspace_id=agent.workspace_id, limit=name, agent_id=whose) for name, whose in missing]
        Meter.objects.bulk_create(made, ignore_conflicts=True)
    return _meters(agent, limits, to_use=True)


def _key(limit: Limit, agent: Agent) -> tuple[str, uuid.UUID | None]:
    return limit.name, agent.pk if limit.per == "agent" else None
