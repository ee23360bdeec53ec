"""Reads of people, memberships, teams, agents and keys."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from reviewhub.accounts.keys import hash_key, looks_like_key
from reviewhub.accounts.lent import teams_lent_to
from reviewhub.accounts.models import Agent, AgentKey, Member, Person, Role, SavedView, Team
from reviewhub.accounts.permissions import MemberCaller, Scope, Target
from reviewhub.core.rows import one_or_none


def key_behind(text: str) -> AgentKey | None:
    """The key that `text` is, with agent, its team and workspace; None for anything else, also for a revoked one."""
    if not looks_like_key(text):
        return None
    rows = AgentKey.objects.select_related("agent__team", "workspace")
    return one_or_none(rows.filter(key_hash=hash_key(text), revoked_at__isnull=True))


def active_memberships(person: Person) -> list[Member]:
    """Where `person` may act now, by workspace name; empty when they were disabled."""
    if not person.is_active:
        return []
    rows = Member.objects.filter(person=person, person__is_active=True, is_active=True)
    return list(rows.select_related("person", "workspace").order_by("workspace__name", "workspace__slug"))


def memberships_in(person: Person, signed_in_at: datetime | None) -> list[Member]:
    """Where `person` may act now in a session in which they last showed their password then."""
    return [one for one in active_memberships(person) if one.takes(signed_in_at)]


def joined_first(person: Person) -> uuid.UUID | None:
    """The membership that `person` had first, perhaps ended by now."""
    rows = Member.objects.filter(person=person).order_by("created_at", "id")
    return rows.values_list("pk", flat=True).first()


def members_of(workspace_id: uuid.UUID) -> QuerySet[Member]:
    """All members, also disabled ones, with person and teams, by name."""
    rows = Member.objects.filter(workspace_id=workspace_id).select_related("person")
    return rows.prefetch_related("teams").order_by("-is_active", "person__name", "id")


def members_seen(caller: MemberCaller) -> QuerySet[Member]:
    """The members that somebody may look for: all of them, or for a reviewer those of their own teams."""
    rows = Member.objects.filter(workspace_id=caller.workspace_id).select_related("person")
    if caller.member.role == Role.REVIEWER:
        rows = rows.filter(Q(pk=caller.member.pk) | Q(teams__in=caller.team_ids)).distinct()
    return rows.order_by("person__name", "id")


def teams_of(workspace_id: uuid.UUID) -> QuerySet[Team]:
    """All teams with their members, by name."""
    return Team.objects.filter(workspace_id=workspace_id).prefetch_related("members__person").order_by("name")


def views_of(member: Member, page: str) -> list[SavedView]:
    """The member's own views of one page, by name."""
    return list(SavedView.objects.filter(member=member, page=page).order_by("folded"))


_ABLE = Q(
    members__is_active=True,
    members__person__is_active=True,
    members__role__in=[Role.REVIEWER, Role.ADMIN],
)


def deciders_of(workspace_id: uuid.UUID) -> dict[uuid.UUID, int]:
    """How many people each team has who may decide what it is asked; a team without any is 0."""
    teams = Team.objects.filter(workspace_id=workspace_id)
    many = teams.annotate(deciders=Count("members", filter=_ABLE)).values_list("pk", "deciders")
    return dict(many)


def who_decides(workspace_id: uuid.UUID) -> dict[str, set[uuid.UUID]]:
    """The members who may decide what a team is asked, by the team's name."""
    found: dict[str, set[uuid.UUID]] = {}
    rows = Team.objects.filter(_ABLE, workspace_id=workspace_id).values_list("name", "members")
    for team, member in rows:
        found.setdefault(team, set()).add(member)
    return found


def hands_in_agents(workspace_id: uuid.UUID) -> dict[str, set[uuid.UUID]]:
    """By agent, who owns it or made one of its keys: under four eyes they never sign off what it asks."""
    found: dict[str, set[uuid.UUID]] = {}
    for agent, owner, maker in Agent.objects.filter(workspace_id=workspace_id).values_list(
        "name", "owner", "keys__made_by"
    ):
        found.setdefault(agent, set()).update(one for one in (owner, maker) if one is not None)
    return found


def agents_of(scope: Scope) -> QuerySet[Agent]:
    """The agents that somebody with this scope may see (a reviewer those of their teams), by name."""
    rows = Agent.objects.filter(workspace_id=scope.workspace_id)
    if scope.agent_id is not None:
        rows = rows.filter(pk=scope.agent_id)
    if scope.team_ids is not None:
        rows = rows.filter(team_id__in=scope.team_ids)
    return rows.order_by("name")


def agents_of_team(workspace_id: uuid.UUID, team_id: uuid.UUID) -> tuple[uuid.UUID, ...]:
    """The agents that belong to a team now."""
    rows = Agent.objects.filter(workspace_id=workspace_id, team_id=team_id).order_by("pk")
    return tuple(rows.values_list("pk", flat=True))


def agent_target(agent: Agent) -> Target:
    """What the permission function is asked about an agent, its keys and its tools: they are of the agent's team."""
    return Target(workspace_id=agent.workspace_id, team_ids=frozenset({agent.team_id}), agent_id=agent.pk)


def active_callers(wanted: Collection[tuple[uuid.UUID, str]]) -> list[MemberCaller]:
    """Those of these people (by id) who may act now in the workspace of that slug, with the teams in which they do; the
    same few queries for any number. Sockets ask again with this.
    """
    rows = Member.objects.filter(
        person_id__in={person for person, _ in wanted},
        workspace__slug__in={slug for _, slug in wanted},
        is_active=True,
        person__is_active=True,
    )
    members = list(rows.select_related("person", "workspace").prefetch_related("teams"))
    lent = teams_lent_to(members)
    return [
        MemberCaller.knowing(one, lent=lent[one.pk])
        for one in members
        if (one.person_id, one.workspace.slug) in wanted
    ]
