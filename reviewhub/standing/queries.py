"""Reads of standing approvals."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db.models import Count, F, Q, QuerySet
from reviewhub_agents import canonical

from reviewhub.accounts.permissions import Action, MemberCaller, Scope, Target, allowed
from reviewhub.core import keyset
from reviewhub.core.clock import DbNow
from reviewhub.core.errors import NotFound
from reviewhub.core.keyset import Page
from reviewhub.policies.model import Rule
from reviewhub.policies.reading import parse_rule
from reviewhub.standing.models import StandingApproval, StandingUse
from reviewhub.standing.rules import Remembered

PAGE = 50
MOST = 200
"""Of how many standing approvals about its tool a call is tried; with more than these, people are asked."""
IN_FORCE = Q(revoked_at__isnull=True, until__gt=DbNow()) & (
    Q(max_uses__isnull=True) | Q(uses__lt=F("max_uses"))
)


def target_of(row: StandingApproval) -> Target:
    """It is of the agent's team, and of the team that it was given for."""
    teams = frozenset({row.team_id, row.agent.team_id})
    return Target(workspace_id=row.workspace_id, team_ids=teams, agent_id=row.agent_id)


def visible(scope: Scope) -> QuerySet[StandingApproval]:
    """Those that somebody with this scope may see."""
    rows = StandingApproval.objects.filter(workspace_id=scope.workspace_id)
    if scope.team_ids is not None:
        rows = rows.filter(Q(team_id__in=scope.team_ids) | Q(agent__team_id__in=scope.team_ids))
    return rows.select_related("agent__team", "owner__person", "owner__workspace", "team", "run")


def listed(scope: Scope, *, only_in_force: bool, cursor: str = "") -> Page[StandingApproval]:
    """A page, the newest first. Raises Invalid for a foreign cursor."""
    rows = visible(scope).prefetch_related("owner__teams")
    if only_in_force:
        rows = rows.filter(IN_FORCE)
    return keyset.newest_first(rows, cursor=cursor, limit=PAGE)


def standing_in(workspace_id: uuid.UUID, standing_id: uuid.UUID) -> StandingApproval:
    """One of a workspace. Raises NotFound."""
    rows = visible(Scope(workspace_id=workspace_id))
    found = rows.filter(pk=standing_id).first()
    if found is None:
        raise NotFound("There is no such standing approval.")
    return found


def candidates(agent_id: uuid.UUID, tools: Iterable[str], *, to_use: bool = False) -> list[StandingApproval]:
    """Those in force that are about one of these tools of an agent, the oldest first; `to_use`: locked, in order."""
    rows = StandingApproval.objects.filter(IN_FORCE, agent_id=agent_id, tool_name__in=set(tools))
    rows = rows.select_related("owner__person", "owner__workspace").prefetch_related("owner__teams")
    if to_use:
        rows = rows.select_for_update(no_key=True, of=("self",))
    return list(rows.order_by("pk")[:MOST])


def counts_by_tool(workspace_id: uuid.UUID) -> dict[tuple[uuid.UUID, str], int]:
    """How many are in force for each tool of each agent."""
    rows = StandingApproval.objects.filter(IN_FORCE, workspace_id=workspace_id)
    counted = rows.values_list("agent_id", "tool_name").annotate(many=Count("pk")).order_by()
    return {(agent, tool): many for agent, tool, many in counted}


def everything(workspace_id: uuid.UUID) -> QuerySet[StandingApproval]:
    """All that there are or were, the oldest first."""
    return visible(Scope(workspace_id=workspace_id)).prefetch_related("owner__teams").order_by("pk")


def used_by(call_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, StandingUse]:
    """By which standing approval these calls were let run, by call."""
    rows = StandingUse.objects.filter(tool_call__in=list(call_ids)).select_related("standing__owner__person")
    return {row.tool_call_id: row for row in rows}


def plain(row: StandingApproval) -> Remembered:
    """The row as the pure rules take it; whether its owner may still decide is asked now."""
    owner = MemberCaller(row.owner)
    target = Target(workspace_id=row.workspace_id, team_ids=frozenset({row.team_id}), agent_id=row.agent_id)
    return Remembered(
        id=row.pk,
        number=row.request_number,
        owner=row.owner_name,
        environment=row.environment,
        run_id=row.run_id,
        schema_fingerprint=row.schema_fingerprint,
        digest=row.digest,
        bounds=bounds_rule(tool=row.tool_name, bounds=row.bounds),
        until=row.until,
        uses=row.uses,
        max_uses=row.max_uses,
        is_revoked=row.revoked_at is not None,
        may_decide=allowed(owner, Action.REQUEST_DECIDE, target),
    )


def bounds_rule(*, tool: str, bounds: str) -> Rule:
    """The bounds as a rule about this very tool. Raises Invalid, with paths within the bounds."""
    tree = canonical.reread(bounds)
    given = tree if isinstance(tree, dict) else {}
    return parse_rule(canonical.dumps({**given, "name": "bounds", "tool": tool, "action": "allow"}))
