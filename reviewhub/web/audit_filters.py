"""What the audit page is narrowed down to: read from an address, for the list, its exports and its saved views."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.accounts.permissions import MemberCaller, scope_of
from reviewhub.accounts.queries import agents_of, agents_of_team, members_of, teams_of
from reviewhub.audit.queries import ACTORS, NOBODY, Filters, kind_names
from reviewhub.core import zones
from reviewhub.runs.queries import run_called
from reviewhub.tools.queries import tool_names
from reviewhub.web.audit_kinds import named

DAYS: Final = ("since", "until")
NAMES: Final = ("q", "kind", "actor", "who", "about", "agent", "tool", "team", "run", "request", *DAYS)


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the form offers."""

    members: list[Member]
    agents: list[Agent]
    teams: list[Team]
    tools: list[str]
    kinds: list[tuple[str, str]]
    """Name, and what it is called."""
    actors: tuple[str, ...] = ACTORS


def choices(caller: MemberCaller) -> Choices:
    """Everything of the workspace that entries may be about."""
    scope = scope_of(caller)
    return Choices(
        members=list(members_of(caller.workspace_id)),
        agents=list(agents_of(scope)),
        teams=list(teams_of(caller.workspace_id)),
        tools=tool_names(scope),
        kinds=named(list(kind_names())),
    )


def filters_of(given: Mapping[str, Any], workspace_id: uuid.UUID) -> Filters:
    """What an address asks for. Of a day, a kind of actor or an entry's number that is none nothing is asked.

    Days are those of the zone that the address names, so that whoever gets it sent finds the same; without one those of
    the reader's.
    """
    actor, zone = given.get("actor", ""), zones.of_form(given)
    since, until = (_day(given.get(name, "")) for name in DAYS)
    team = _named(given.get("team", ""))
    return Filters(
        text=given.get("q", "")[:200].strip(),
        kind=given.get("kind", "")[:60],
        actor_kind=actor if actor in ACTORS else "",
        actor_id=_named(given.get("who", "")),
        about_id=_named(given.get("about", "")),
        agent_id=_named(given.get("agent", "")),
        tool=given.get("tool", "")[:200].strip(),
        team_id=team,
        agent_ids=agents_of_team(workspace_id, team) if team else (),
        run_id=_run(given.get("run", "").strip(), workspace_id),
        request_id=_named(given.get("request", "")),
        since=zones.begin(since, zone) if since else None,
        until=zones.end(until, zone) if until else None,
    )


def words_of(given: Mapping[str, Any]) -> str:
    """The filters for people and for the record."""
    said = [f"{name} {value[:200]}" for name in NAMES if (value := given.get(name, "").strip())]
    if any(given.get(name, "").strip() for name in DAYS):
        said.append(f"days of {zones.name_of(zones.of_form(given))}")
    return ", ".join(said)


def _run(text: str, workspace_id: uuid.UUID) -> uuid.UUID | None:
    """A run by its id, or by the id that its agent gave it."""
    if not text:
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        return run_called(workspace_id, text) or NOBODY


def _named(text: str) -> uuid.UUID | None:
    if not text:
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        return NOBODY


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date() if text else None  # noqa: DTZ007
    except ValueError:
        return None
