"""What the record is narrowed to by an address of the API: the filters of the audit page, for the list and exports."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from reviewhub.accounts.queries import agents_of_team
from reviewhub.audit.queries import ACTORS, NOBODY, Filters, kind_names
from reviewhub.core.errors import Invalid
from reviewhub.runs.queries import run_called

TIMES: Final = ("since", "until")
OTHERS: Final = (
    "actor",
    "actor_kind",
    "about",
    "agent",
    "team",
    "run",
    "request",
    "kind",
    "tool",
    "text",
)
NAMES: Final = (*OTHERS, *TIMES)


def given_of(params: Mapping[str, str]) -> dict[str, str]:
    """The filters among the parameters of an address."""
    return {name: params[name] for name in NAMES if name in params}


def words_of(given: Mapping[str, str]) -> str:
    """The filters for people and for the record."""
    return ", ".join(f"{name} {value}" for name, value in sorted(given.items()))


def filters_of(given: Mapping[str, str], workspace_id: uuid.UUID) -> Filters:
    """The filters. Raises Invalid for a value that is none: it would answer with everything."""
    team = _id("team", given)
    return Filters(
        team_id=team,
        agent_ids=agents_of_team(workspace_id, team) if team else (),
        about_id=_id("about", given),
        actor_id=_id("actor", given),
        actor_kind=_one_of("actor_kind", given, ACTORS),
        agent_id=_id("agent", given),
        run_id=_run(given, workspace_id),
        request_id=_id("request", given),
        kind=_one_of("kind", given, kind_names()),
        tool=_text("tool", given),
        text=_text("text", given),
        since=_time("since", given),
        until=_time("until", given),
    )


def _id(name: str, given: Mapping[str, str]) -> uuid.UUID | None:
    try:
        return uuid.UUID(given[name]) if name in given else None
    except ValueError as error:
        raise Invalid.at(f"/query/{name}", "This is no UUID.") from error


def _run(given: Mapping[str, str], workspace_id: uuid.UUID) -> uuid.UUID | None:
    """A run by its id, or by the id that its agent gave it."""
    if "run" not in given:
        return None
    text = _text("run", given)
    try:
        return uuid.UUID(text)
    except ValueError:
        return run_called(workspace_id, text) or NOBODY


def _text(name: str, given: Mapping[str, str]) -> str:
    if name not in given:
        return ""
    if not given[name].strip():
        raise Invalid.at(f"/query/{name}", "This says nothing.")
    return given[name]


def _one_of(name: str, given: Mapping[str, str], known: Iterable[str]) -> str:
    if name in given and given[name] not in known:
        raise Invalid.at(f"/query/{name}", f"There is no {given[name][:60]!r}.")
    return given.get(name, "")


def _time(name: str, given: Mapping[str, str]) -> datetime | None:
    try:
        found = datetime.fromisoformat(given[name]) if name in given else None
    except ValueError as error:
        raise Invalid.at(f"/query/{name}", "This is no time in ISO 8601.") from error
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
